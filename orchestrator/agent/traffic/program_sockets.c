/* The other side of kmod/lh_programs.c: a line to /proc/lh_programs is a command, and all counts are read as lines. */
#include "traffic/program_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/fatal.h"

#define MODULE	      "/proc/lh_programs"
#define FIRST_BYTES   65536
#define LARGEST_BYTES (64u << 20)

/* The module is asked by a process in any mount namespace: it has its own /proc there. */
__attribute__((format(printf, 1, 2))) static int command(const char *format, ...)
{
	char line[64];
	va_list list;
	int length, fd = open(MODULE, O_WRONLY | O_CLOEXEC), problem = 0;

	if (fd < 0)
		return errno;
	va_start(list, format);
	length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (write(fd, line, (size_t)length) != length)
		problem = errno;
	close(fd);
	return problem;
}

static void check(const struct flow *flow, int problem)
{
	if (problem)
		die("following the connections of flow", flow->name, "lh_programs.ko does it", "%s",
		    strerror(problem));
}

void program_sockets_add(const struct flow *flow)
{
	check(flow, command("flow %u %u %u", flow->id, flow->program->connections,
			    flow->program->server_sends));
}

int program_sockets_take(const struct flow *flow, enum program_side side)
{
	return command("side %u %u", flow->id, side);
}

void program_sockets_await(const struct flow *flow)
{
	int problem;

	while ((problem = command("await %u", flow->id)) == EINTR)
		continue;
	check(flow, problem);
}

void program_sockets_reset(const struct flow *flow)
{
	check(flow, command("reset %u", flow->id));
}

/* Everything that the module has to say, to be freed. */
static char *read_all(const struct flow *flow)
{
	size_t size = FIRST_BYTES, used = 0;
	char *text = need_memory(size, 1);
	int fd = open(MODULE, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : 1;

	while (got > 0) {
		if (size - used < FIRST_BYTES / 2 && size < LARGEST_BYTES)
			text = realloc(text, size *= 2);
		if (!text)
			break;
		got = read(fd, text + used, size - used - 1);
		used += got > 0 ? (size_t)got : 0;
	}
	if (got < 0 || !text)
		check(flow, errno);
	text[used] = 0;
	close(fd);
	return text;
}

static void read_total(const char *line, const struct flow *flow, struct program_totals *totals)
{
	unsigned int id, first, second, third;

	if (sscanf(line, "flow %u %u %u %u", &id, &first, &second, &third) == 4 && id == flow->id) {
		totals->listening = first;
		totals->most = second;
		totals->elsewhere = third;
	}
	if (sscanf(line, "slot %u %u", &id, &first) == 2 && id >= flow->id &&
	    id < flow->id + flow->program->connections)
		totals->connections += first;
}

struct program_totals program_sockets_look(const struct flow *flow)
{
	struct program_totals totals = {0};
	char *text = read_all(flow), *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		read_total(line, flow, &totals);
	free(text);
	return totals;
}

static void read_counts(const char *line, struct flow_counters *counters)
{
	unsigned int id, ecn;

	if (sscanf(line,
		   "slot %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu32 " %" SCNu32 " %u %15s",
		   &id, &counters->connections, &counters->bytes_sent, &counters->bytes_received,
		   &counters->packets_sent, &counters->packets_received, &counters->retransmits,
		   &counters->delivered, &counters->marks_reported, &counters->busy_us,
		   &counters->rwnd_limited_us, &counters->sndbuf_limited_us,
		   &counters->bytes_unseen, &counters->bytes_backward, &counters->min_rtt_us,
		   &counters->mss, &ecn, counters->cc) != 18)
		die("reading", MODULE, "lh_programs.ko and the agent must be of one version", "%s",
		    line);
	counters->ecn = ecn;
	if (!strcmp(counters->cc, "-"))
		*counters->cc = 0;
}

void program_sockets_count(struct flow *flow)
{
	struct flow_counters *counters = flow->counters;
	char *text = read_all(flow), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		unsigned int id, sender, receiver;

		if (sscanf(line, "slot %u", &id) == 1 && id == flow->id) {
			read_counts(line, counters);
			counters->ports =
				need_memory(counters->connections, sizeof(*counters->ports));
		}
		if (sscanf(line, "ports %u %u %u", &id, &sender, &receiver) == 3 && id == flow->id)
			counters->ports[counters->port_count++] =
				(struct port_pair){(uint16_t)sender, (uint16_t)receiver};
	}
	free(text);
	/* The module does not look at the marks that a receiver sees. */
	counters->marks_received = NEVER;
}
