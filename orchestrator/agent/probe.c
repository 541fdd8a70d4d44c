/* Every line is one system call; nothing here is called for each packet. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/module.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "die.h"
#include "links.h"

#define PROBE "/proc/lh_trace"

static int probe_fd = -1;

static void load(const char *name, const char *parameters)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("loading module", name, "`longhaul modules build` makes the modules", "%s: %s",
		    path, strerror(errno));
	if (syscall(SYS_finit_module, fd, parameters, 0))
		die("loading module", name,
		    errno == ENOEXEC ? "the module was built for another kernel"
				     : "the console log has the kernel's own words",
		    "parameters '%s': %s", parameters, strerror(errno));
	close(fd);
}

/* A switch that was set to 1 or 0 reads Y or N. */
static bool same_value(const char *asked, const char *read_back)
{
	return !strcmp(asked, read_back) || (!strcmp(asked, "1") && !strcmp(read_back, "Y")) ||
	       (!strcmp(asked, "0") && !strcmp(read_back, "N"));
}

void module_set_parameters(const struct module *module)
{
	char path[256], read_back[128];

	for (size_t i = 0; i < module->param_count; i++) {
		const struct pair *param = &module->params[i];
		ssize_t got = -1;
		int fd;

		snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module->name,
			 param->name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && write(fd, param->value, strlen(param->value)) > 0)
			got = pread(fd, read_back, sizeof(read_back) - 1, 0);
		if (got < 0)
			die("setting a parameter of module", module->name,
			    "the guest kernel may not have it, or fix it once the module is loaded",
			    "%s=%s: %s", param->name, param->value, strerror(errno));
		close(fd);
		read_back[got] = 0;
		read_back[strcspn(read_back, "\n")] = 0;
		if (!same_value(param->value, read_back))
			die("reading back a parameter of module", module->name, "",
			    "%s was asked to be %s and reads %s", param->name, param->value,
			    read_back);
	}
}

void modules_load(const struct plan *plan)
{
	char parameters[1024];

	snprintf(parameters, sizeof(parameters), "fd=5 tick_us=%u ack_us=%u", plan->trace_tick_us,
		 plan->trace_ack_us);
	load("lh_trace", parameters);
	for (size_t i = 0; i < plan->module_count; i++) {
		const struct module *module = &plan->modules[i];
		size_t used = 0;

		if (module->builtin) {
			module_set_parameters(module);
			continue;
		}
		*parameters = 0;
		for (size_t j = 0; j < module->param_count && used < sizeof(parameters); j++)
			used += (size_t)snprintf(parameters + used, sizeof(parameters) - used,
						 "%s%s=%s", j ? " " : "", module->params[j].name,
						 module->params[j].value);
		if (used >= sizeof(parameters))
			die("loading module", module->name, "", "its parameters are too long");
		load(module->name, parameters);
	}
}

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
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
		die("telling the probe", line, "", "%s", strerror(problem));
	}
}

void probe_start(const struct plan *plan, uint64_t epoch_ns)
{
	probe_fd = open(PROBE, O_RDWR | O_CLOEXEC);
	if (probe_fd < 0)
		die("opening the probe", PROBE, "lh_trace.ko makes it", "%s", strerror(errno));
	for (size_t i = 0; i < plan->link_count; i++) {
		const struct link *link = &plan->links[i];

		enter_node(link->end->node);
		tell("link %u %s %x\n", link->id, link->end->dev, link->queue >> 16);
		leave_node();
	}
	tell("epoch %llu\n", (unsigned long long)epoch_ns);
}

void probe_mark(enum event event, uint32_t id, uint64_t value)
{
	tell("mark %d %u %llu\n", event, id, (unsigned long long)value);
}

void probe_count_udp(uint32_t flow, uint64_t bytes, uint64_t packets)
{
	tell("udp %u %llu %llu\n", flow, (unsigned long long)bytes, (unsigned long long)packets);
}

void probe_flush(void)
{
	tell("flush\n");
}

void probe_report(const struct plan *plan, struct probe_report *report)
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
