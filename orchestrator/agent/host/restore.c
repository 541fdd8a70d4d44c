/* The file `changed` has a line a thing: "parameter MODULE NAME VALUE", "module NAME" or "queue DEVICE HANDLE"; they are put back from the last to the first. */
#include "host/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "net/modules.h"
#include "net/netlink.h"
#include "net/qdisc.h"
#include "plan/qdiscs.h"
#include "system/fatal.h"

#define CHANGED	   "changed"
#define MOST_LINES 256
#define LINE_BYTES 256
#define TRIES	   50
#define PAUSE_NS   20000000

/* Before the change itself: on the disk, or rather in the memory that outlives this process. */
__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	int fd = open(CHANGED, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char line[LINE_BYTES];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (fd < 0 || length >= LINE_BYTES || write(fd, line, (size_t)length) != length)
		die("noting what is changed in", CHANGED, "see whether /run is full", "%s",
		    strerror(errno));
	close(fd);
}

static bool is_loaded(const char *module)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	return access(path, F_OK) == 0;
}

/* Asking for a control makes the kernel load its module, as for any program with the right to. */
static void need_control(const struct flow *flow, const char *cc)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)))
		die("asking the kernel for the congestion control of flow", flow->name,
		    "deploy the modules with `longhaul hosts deploy`", "%s: %s", cc,
		    strerror(errno));
	close(fd);
}

static void load_control(const struct flow *flow, const char *cc)
{
	char module[64];
	bool was_there;

	snprintf(module, sizeof(module), "tcp_%s", cc);
	was_there = is_loaded(module);
	if (!was_there)
		note("module %s\n", module);
	need_control(flow, cc);
}

void undo_load_controls(const struct plan *plan, const struct node *node)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		const struct flow *flow = &plan->flows[i];

		if (flow->cc && (flow->from == node || (flow->to == node && flow->both_ends)))
			load_control(flow, flow->cc);
	}
	for (size_t i = 0; i < plan->change_count; i++) {
		const struct change *change = &plan->schedule[i];

		if (change->kind == CHANGE_FLOW && change->cc && change->flow->from == node)
			load_control(change->flow, change->cc);
	}
}

static bool read_parameter(const char *module, const char *name, char *value, size_t size)
{
	char path[256];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, value, size - 1);
	close(fd);
	value[got > 0 ? got : 0] = 0;
	value[strcspn(value, "\n")] = 0;
	return got > 0;
}

static bool write_parameter(const char *module, const char *name, const char *value)
{
	char path[256];
	ssize_t done;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/%s/parameters/%s", module, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, value, strlen(value));
	close(fd);
	return done > 0;
}

void undo_set_parameters(const struct module *module)
{
	char value[128];

	for (size_t i = 0; i < module->param_count; i++)
		/* What cannot be read, the next function refuses with its reason. */
		if (read_parameter(module->name, module->params[i].name, value, sizeof(value)))
			note("parameter %s %s %s\n", module->name, module->params[i].name, value);
	module_set_parameters(module);
}

/* A module is in use for a moment longer than its last socket. */
static bool unload(const char *module)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (int i = 0; i < TRIES && is_loaded(module); i++) {
		if (!syscall(SYS_delete_module, module, O_NONBLOCK))
			return true;
		nanosleep(&pause, NULL);
	}
	return !is_loaded(module);
}

void undo_note_queues(const struct end *end)
{
	char module[64];

	for (size_t i = 0; i < end->qdisc_count; i++) {
		snprintf(module, sizeof(module), "sch_%s", qdisc_kind_name(end->qdiscs[i].kind));
		if (!is_loaded(module))
			note("module %s\n", module);
	}
	if (end->qdisc_count)
		note("queue %s %x\n", end->dev, end->qdiscs[0].handle);
}

/* The kernel then gives the device its default queue. A queue that another program has put there meanwhile stays. */
static bool remove_queue(const char *dev, uint32_t handle)
{
	struct node here = {.rtnl_fd = netlink_open(NETLINK_ROUTE)};
	struct tcmsg body = {.tcm_ifindex = (int)if_nametoindex(dev),
			     .tcm_parent = TC_H_ROOT,
			     .tcm_handle = handle};
	struct qdisc_reading *readings;
	struct request request;
	bool gone = true;
	char why[256];
	size_t count;

	readings = qdiscs_read(&here, &count);
	if (qdisc_find(readings, count, (unsigned int)body.tcm_ifindex, handle)) {
		request_begin(&request, RTM_DELQDISC, 0, &body, sizeof(body));
		gone = !netlink_ask(here.rtnl_fd, &request, why, sizeof(why));
	}
	free(readings);
	close(here.rtnl_fd);
	return gone;
}

static bool put_back(const char *line)
{
	char module[64], name[64], value[128];
	uint32_t handle;

	if (sscanf(line, "module %63s", module) == 1)
		return unload(module);
	if (sscanf(line, "queue %63s %x", name, &handle) == 2)
		return remove_queue(name, handle);
	if (sscanf(line, "parameter %63s %63s %127[^\n]", module, name, value) != 3)
		return false;
	/* One that went with its module needs no value. */
	return !is_loaded(module) || write_parameter(module, name, value);
}

int undo_all(const char *directory)
{
	static char lines[MOST_LINES][LINE_BYTES];
	int count = 0, failed = 0;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" CHANGED, directory);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (count < MOST_LINES && fgets(lines[count], LINE_BYTES, file))
		count++;
	fclose(file);
	while (count--)
		failed += !put_back(lines[count]);
	if (!failed)
		unlink(path);
	return failed;
}
