/*
 * iperf3 as a witness: what its client and its server counted, from the JSON that they leave. A server that learned of the end
 * has read no further; what it had not read yet is an error on neither side.
 */
#include "traffic/iperf3_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/fatal.h"
#include "system/json_reader.h"
#include "traffic/iperf3.h"

/* The document of one side, NULL if it left none that can be read. */
static const struct json *read_report(const struct flow *flow, const char *side)
{
	char path[128], *text;
	struct json_error error;
	struct stat info;
	const struct json *root = NULL;
	ssize_t got;
	int fd;

	iperf3_path(flow, side, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info))
		return NULL;
	text = need_memory((size_t)info.st_size + 1, 1);
	got = read(fd, text, (size_t)info.st_size);
	close(fd);
	if (got > 0)
		root = json_parse(text, (size_t)got, &error);
	if (!root)
		say("flow %s: iperf3's %s left no JSON in %s", flow->name, side, path);
	return root;
}

static const struct json *member(const struct json *object, const char *key)
{
	return object && object->type == JSON_OBJECT ? json_member(object, key) : NULL;
}

bool iperf3_gave_up(const struct flow *flow)
{
	const struct json *error = member(read_report(flow, "client"), "error");

	return error && error->type == JSON_TEXT && strstr(error->text, strerror(ETIMEDOUT));
}

static void write_number(struct writer *writer, const char *name, const struct json *object,
			 const char *key)
{
	const struct json *value = member(object, key);

	if (value && value->type == JSON_INTEGER && !value->negative)
		writer_unsigned(writer, name, value->magnitude);
	else
		writer_null(writer, name);
}

static void write_text(struct writer *writer, const char *name, const struct json *object,
		       const char *key)
{
	const struct json *value = member(object, key);

	writer_text(writer, name, value && value->type == JSON_TEXT ? value->text : NULL);
}

void iperf3_write_report(struct writer *writer, const struct flow *flow)
{
	const struct json *client = read_report(flow, "client"),
			  *server = read_report(flow, "server");
	const struct json *sent = member(member(client, "end"), "sum_sent"),
			  *received = member(member(server, "end"), "sum_received");

	writer_object(writer, "iperf3");
	write_text(writer, "version", member(client, "start"), "version");
	write_number(writer, "block_bytes", member(member(client, "start"), "test_start"),
		     "blksize");
	write_number(writer, "bytes_sent", sent, "bytes");
	write_number(writer, "retransmits", sent, "retransmits");
	write_text(writer, "sender_cc", member(client, "end"), "sender_tcp_congestion");
	write_number(writer, "bytes_received", received, "bytes");
	write_text(writer, "receiver_cc", member(server, "end"), "receiver_tcp_congestion");
	writer_unsigned(writer, "bytes_given", flow->counters->bytes_given);
	writer_unsigned(writer, "bytes_under_way", flow->counters->bytes_under_way);
	writer_end(writer);
}
