/*
 * The other side of kmod/lh_trace.c: lines to /proc/lh_trace. Every line is one system call; nothing here
 * is called for each packet.
 */
#include "trace/probe_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/nodes.h"
#include "system/clock.h"
#include "system/fatal.h"

#define PROBE "/proc/lh_trace"
#define CLOCK "lh_shell"

static int probe_fd = -1;

__attribute__((format(printf, 1, 2))) static void command(const char *format, ...)
{
	char line[128];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (write(probe_fd, line, (size_t)length) != length) {
		int problem = errno;

		line[strcspn(line, "\n")] = 0;
		die("commanding the probe", line, "", "%s", strerror(problem));
	}
}

/* A run that is stopped for a look (kmod/lh_shell.c) counts from the same instant as its trace. */
static void start_clock(const struct plan *plan, const char *epoch)
{
	int fd;

	if (!plan->module_count || strcmp(plan->modules[plan->module_count - 1].name, CLOCK))
		return;
	fd = open("/proc/" CLOCK, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, epoch, strlen(epoch)) < 0)
		die("setting the moment of the shell", CLOCK, "", "%s", strerror(errno));
	close(fd);
}

static void start(const struct plan *plan, uint64_t epoch_ns)
{
	char epoch[64];

	probe_fd = open(PROBE, O_RDWR | O_CLOEXEC);
	if (probe_fd < 0)
		die("opening the probe", PROBE, "lh_trace.ko makes it", "%s", strerror(errno));
	for (size_t i = 0; i < plan->link_count; i++) {
		const struct link *link = &plan->links[i];

		enter_node(link->end->node);
		command("link %u %s %x\n", link->id, link->end->dev, link->queue >> 16);
		leave_node();
	}
	for (size_t i = 0; i < plan->policer_count; i++) {
		const struct policer *policer = &plan->policers[i];

		enter_node(policer->end->node);
		command("police %u %s\n", policer->id, policer->end->dev);
		leave_node();
	}
	snprintf(epoch, sizeof(epoch), "epoch %llu %llu\n", (unsigned long long)epoch_ns,
		 (unsigned long long)(epoch_ns + plan->duration_us * NS_PER_US));
	command("%s", epoch);
	start_clock(plan, epoch);
}

static void mark(enum event event, uint32_t id, uint64_t value)
{
	command("mark %d %u %llu\n", event, id, (unsigned long long)value);
}

static void count_udp(uint32_t flow, uint64_t bytes, uint64_t packets)
{
	command("udp %u %llu %llu\n", flow, (unsigned long long)bytes, (unsigned long long)packets);
}

static void flush(void)
{
	command("flush\n");
}

static void report_all(const struct plan *plan, struct probe_report *report)
{
	char text[8192], *rest = text, *line;
	ssize_t got = pread(probe_fd, text, sizeof(text) - 1, 0);

	if (got < 0)
		die("reading the probe", PROBE, "", "%s", strerror(errno));
	text[got] = 0;
	*report = (struct probe_report){
		.max_frame_bytes = need_memory(plan->link_count, sizeof(*report->max_frame_bytes))};
	while ((line = strsep(&rest, "\n"))) {
		unsigned long long number;
		unsigned int id, frame;

		if (sscanf(line, "records %llu", &number) == 1)
			report->records = number;
		else if (sscanf(line, "written_bytes %llu", &number) == 1)
			report->bytes = number;
		else if (sscanf(line, "link %u max_frame %u", &id, &frame) == 2)
			for (size_t i = 0; i < plan->link_count; i++)
				if (plan->links[i].id == id)
					report->max_frame_bytes[i] = frame;
	}
}

const struct prober kernel_prober = {start, mark, count_udp, flush, report_all};
