/* An event of a flow is noted once, under the lock, and passed to the probe without it. */
#include "traffic/flow.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "trace/probe.h"

pthread_mutex_t traffic_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t traffic_changed = PTHREAD_COND_INITIALIZER;

/* The lower two bits of the field are ECN's. */
#define DSCP_SHIFT 2

static bool marked = true;

void flows_unmarked(void)
{
	marked = false;
}

uint64_t flow_end_us(const struct flow *flow)
{
	uint64_t duration_us = flow->traffic->plan->duration_us;

	return flow->stop_us < duration_us ? flow->stop_us : duration_us;
}

bool flow_lasts(const struct flow *flow)
{
	return flow->stop_us >= flow->traffic->plan->duration_us;
}

void flow_error(struct flow *flow, const char *format, ...)
{
	struct flow_counters *counters = flow->counters;
	va_list list;

	pthread_mutex_lock(&traffic_lock);
	if (!*counters->error) {
		va_start(list, format);
		vsnprintf(counters->error, sizeof(counters->error), format, list);
		va_end(list);
		say("flow %s: %s", flow->name, counters->error);
	}
	pthread_mutex_unlock(&traffic_lock);
}

static void note(uint64_t *when_us)
{
	uint64_t now_us = clock_now_ns() / NS_PER_US;

	pthread_mutex_lock(&traffic_lock);
	*when_us = now_us;
	pthread_cond_broadcast(&traffic_changed);
	pthread_mutex_unlock(&traffic_lock);
}

void flow_connected(struct flow *flow)
{
	if (flow->counters->connected_us != NEVER)
		return;
	note(&flow->counters->connected_us);
	probe_mark(EVENT_CONNECTED, flow->id, 0);
}

/* At the end of a run in virtual time all flows stop at once, and are noted in the order of the plan. */
static bool stops_at_end(const struct flow *flow)
{
	return clock_is_virtual() && flow->counters->stopped_us != NEVER &&
	       flow->counters->stopped_us >= flow->traffic->plan->duration_us;
}

void flow_stopped(struct flow *flow)
{
	note(&flow->counters->stopped_us);
	if (!stops_at_end(flow))
		probe_mark(EVENT_STOPPED, flow->id, 0);
}

void flow_note_end(const struct flow *flow)
{
	if (stops_at_end(flow))
		probe_mark(EVENT_STOPPED, flow->id, 0);
}

void flow_completed(struct flow *flow)
{
	note(&flow->counters->completed_us);
	probe_mark(EVENT_COMPLETED, flow->id, 0);
}

/* The kernel keeps twice the buffer that is asked for, for its own needs. */
static bool is_doubled(const struct socket_option *option)
{
	return option->level == SOL_SOCKET &&
	       (option->name == SO_SNDBUF || option->name == SO_RCVBUF);
}

void flow_set_options(const struct flow *flow, int fd)
{
	for (size_t i = 0; i < flow->sockopt_count; i++) {
		const struct socket_option *option = &flow->sockopts[i];
		int value = option->value, read_back = 0;
		socklen_t size = sizeof(read_back);

		if (setsockopt(fd, option->level, option->name, &value, sizeof(value)))
			die("setting a socket option of flow", flow->name,
			    "the guest's kernel or the control in use may not have it",
			    "level %d, name %d, value %d: %s", option->level, option->name, value,
			    strerror(errno));
		/* Some can only be set. */
		if (getsockopt(fd, option->level, option->name, &read_back, &size))
			continue;
		if (read_back != value && !(is_doubled(option) && read_back == 2 * value))
			die("reading back a socket option of flow", flow->name,
			    "the kernel limits it, or gives it another meaning",
			    "level %d, name %d was asked to be %d and reads %d", option->level,
			    option->name, value, read_back);
	}
}

void flow_set_dscp(const struct flow *flow, int fd)
{
	int tos = flow->dscp << DSCP_SHIFT | (flow->cc ? 0 : flow->ect);

	if (tos && setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)))
		die("setting the DSCP and the ECN field of flow", flow->name, "", "%s",
		    strerror(errno));
}

uint8_t flow_read_dscp(struct flow *flow, int fd)
{
	int tos = 0;
	socklen_t size = sizeof(tos);

	if (getsockopt(fd, IPPROTO_IP, IP_TOS, &tos, &size))
		flow_error(flow, "reading its DSCP: %s", strerror(errno));
	return (uint8_t)(tos >> DSCP_SHIFT);
}

int flow_socket(int type, uint32_t mark)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || (marked && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark))) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("making a socket", "", "", "%s", strerror(errno));
	return fd;
}
