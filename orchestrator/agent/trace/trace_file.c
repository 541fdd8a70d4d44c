/* Records wait in memory and are written together; the caller holds the sampler's lock (sampler.c). */
#include "trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/fatal.h"

#define FILE_NAME    "trace.bin"
#define BUFFER_BYTES (256 * 1024)

static int trace_fd = -1;
static _Alignas(LH_RECORD_BYTES) unsigned char buffer[BUFFER_BYTES];
static size_t used;
static uint64_t records, written;

void trace_write_out(void)
{
	for (size_t done = 0; done < used;) {
		ssize_t sent = write(trace_fd, buffer + done, used - done);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			die("writing the trace", FILE_NAME, "see whether the disk is full", "%s",
			    strerror(errno));
		done += (size_t)sent;
	}
	written += used;
	used = 0;
}

void *trace_record(enum lh_kind kind, uint8_t state, uint16_t id, uint64_t at_ns)
{
	struct lh_event *record; /* any of them: the first 12 bytes are common */

	if (used + LH_RECORD_BYTES > BUFFER_BYTES)
		trace_write_out();
	record = (struct lh_event *)(buffer + used);
	used += LH_RECORD_BYTES;
	records++;
	memset(record, 0, LH_RECORD_BYTES);
	record->t_ns = at_ns;
	record->kind = kind;
	record->state = state;
	record->id = id;
	return record;
}

uint64_t trace_records(void)
{
	return records;
}

uint64_t trace_bytes(void)
{
	return written;
}

/* ---- the header: what the records look like ---- */

struct text {
	char *bytes;
	size_t used, size;
	size_t begun; /* where the list of fields begins */
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	text->used +=
		(size_t)vsnprintf(text->bytes + text->used, text->size - text->used, format, list);
	va_end(list);
}

static void add_field(struct text *text, const char *name, const char *numpy, size_t offset)
{
	add(text, "%s[\"%s\", \"%s\", %zu]", text->used == text->begun ? "" : ", ", name, numpy,
	    offset);
}

#define ADD_FIELD(type, numpy, name) add_field(text, #name, numpy, offsetof(RECORD, name));

#define ADD_KIND(number, word, FIELDS)                                                      \
	do {                                                                                \
		_Static_assert(sizeof(RECORD) <= LH_RECORD_BYTES, "a record is too large"); \
		add(text, "%s\"%d\": {\"name\": \"%s\", \"fields\": [",                     \
		    (number) == LH_ACK ? "" : ", ", number, word);                          \
		text->begun = text->used;                                                   \
		LH_COMMON(ADD_FIELD)                                                        \
		FIELDS(ADD_FIELD)                                                           \
		add(text, "]}");                                                            \
	} while (0)

static void add_kinds(struct text *text)
{
#define RECORD struct lh_ack
	ADD_KIND(LH_ACK, "ack", LH_ACK_FIELDS);
#undef RECORD
#define RECORD struct lh_flow
	ADD_KIND(LH_FLOW, "flow", LH_FLOW_FIELDS);
#undef RECORD
#define RECORD struct lh_link
	ADD_KIND(LH_LINK, "link", LH_LINK_FIELDS);
#undef RECORD
#define RECORD struct lh_drop_record
	ADD_KIND(LH_DROP, "drop", LH_DROP_FIELDS);
#undef RECORD
#define RECORD struct lh_event
	ADD_KIND(LH_EVENT, "event", LH_EVENT_FIELDS);
#undef RECORD
#define RECORD struct lh_state
	ADD_KIND(LH_STATE, "state", LH_STATE_FIELDS);
#undef RECORD
}

void trace_open(void)
{
	struct text text = {.bytes = (char *)buffer, .size = LH_HEADER_BYTES};

	trace_fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (trace_fd < 0)
		die("making the trace", FILE_NAME, "", "%s", strerror(errno));
	add(&text,
	    "{\"magic\": \"" LH_MAGIC
	    "\", \"record_bytes\": %d, \"byte_order\": \"little\", \"kinds\": {",
	    LH_RECORD_BYTES);
	add_kinds(&text);
	add(&text, "}}");
	memset(buffer + text.used, ' ', LH_HEADER_BYTES - text.used - 1);
	buffer[LH_HEADER_BYTES - 1] = '\n';
	used = LH_HEADER_BYTES;
	trace_write_out();
}
