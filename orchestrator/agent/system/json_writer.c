/* The only place that knows how JSON is punctuated on the way out. */
#include "system/json_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "system/files.h"

static void put_text(FILE *stream, const char *value)
{
	putc('"', stream);
	for (; *value; value++) {
		unsigned char byte = (unsigned char)*value;

		if (byte == '"' || byte == '\\')
			fprintf(stream, "\\%c", byte);
		else if (byte < 0x20)
			fprintf(stream, "\\u%04x", byte);
		else
			putc(byte, stream);
	}
	putc('"', stream);
}

static void begin_member(struct writer *writer, const char *key)
{
	if (writer->depth > 0) {
		if (writer->begun[writer->depth - 1])
			fputs(", ", writer->stream);
		writer->begun[writer->depth - 1] = true;
	}
	if (key) {
		put_text(writer->stream, key);
		fputs(": ", writer->stream);
	}
}

static void open_level(struct writer *writer, const char *key, char opener, char closer)
{
	begin_member(writer, key);
	if (writer->depth == WRITER_DEPTH)
		abort();
	putc(opener, writer->stream);
	writer->closer[writer->depth] = closer;
	writer->begun[writer->depth++] = false;
}

void writer_open(struct writer *writer)
{
	*writer = (struct writer){0};
	writer->stream = open_memstream(&writer->text, &writer->length);
	if (!writer->stream)
		abort();
}

void writer_object(struct writer *writer, const char *key)
{
	open_level(writer, key, '{', '}');
}

void writer_list(struct writer *writer, const char *key)
{
	open_level(writer, key, '[', ']');
}

void writer_end(struct writer *writer)
{
	writer->depth--;
	putc(writer->closer[writer->depth], writer->stream);
	if (writer->depth <= 2)
		putc('\n', writer->stream);
}

void writer_text(struct writer *writer, const char *key, const char *value)
{
	if (!value) {
		writer_null(writer, key);
		return;
	}
	begin_member(writer, key);
	put_text(writer->stream, value);
}

void writer_unsigned(struct writer *writer, const char *key, uint64_t value)
{
	begin_member(writer, key);
	fprintf(writer->stream, "%" PRIu64, value);
}

void writer_bool(struct writer *writer, const char *key, bool value)
{
	begin_member(writer, key);
	fputs(value ? "true" : "false", writer->stream);
}

void writer_null(struct writer *writer, const char *key)
{
	begin_member(writer, key);
	fputs("null", writer->stream);
}

bool writer_save(struct writer *writer, const char *path)
{
	bool saved;

	if (fclose(writer->stream)) {
		errno = ENOMEM;
		return false;
	}
	saved = write_whole_file(path, writer->text, writer->length);
	free(writer->text);
	return saved;
}
