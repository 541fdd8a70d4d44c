/* What all kinds of flow share: sockets in their nodes, threads, times, the first error. */
#include "traffic/flows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "traffic/iperf3.h"
#include "net/links.h"
#include "trace/probe.h"

#define SETTLE_NS      (2 * NS_PER_S)
#define SETTLE_LOOK_NS 1000000
#define STACK_BYTES    (64 * 1024) /* hundreds of threads; none keeps more than a page or two */

pthread_mutex_t traffic_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t traffic_changed = PTHREAD_COND_INITIALIZER;

static bool marked = true;

void flows_unmarked(void)
{
	marked = false;
}

void flows_abort(const struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		const struct flow *flow = &plan->flows[i];

		/* Its thread may be asleep in a call on it: what closes it is the end of this process. */
		if (flow->traffic && flow->traffic->sender_fd >= 0 && !flow->traffic->over)
			tcp_forget(flow->traffic->sender_fd);
	}
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
	struct traffic *traffic = flow->traffic;
	va_list list;

	pthread_mutex_lock(&traffic_lock);
	if (!*traffic->error) {
		va_start(list, format);
		vsnprintf(traffic->error, sizeof(traffic->error), format, list);
		va_end(list);
		say("flow %s: %s", flow->name, traffic->error);
	}
	pthread_mutex_unlock(&traffic_lock);
}

static void note(struct flow *flow, enum event event, uint64_t *when_us)
{
	uint64_t now_us = clock_now_ns() / NS_PER_US;

	pthread_mutex_lock(&traffic_lock);
	*when_us = now_us;
	pthread_cond_broadcast(&traffic_changed);
	pthread_mutex_unlock(&traffic_lock);
	probe_mark(event, flow->id, 0);
}

void flow_connected(struct flow *flow)
{
	if (flow->traffic->connected_us == NEVER)
		note(flow, EVENT_CONNECTED, &flow->traffic->connected_us);
}

void flow_stopped(struct flow *flow)
{
	note(flow, EVENT_STOPPED, &flow->traffic->stopped_us);
}

void flow_completed(struct flow *flow)
{
	note(flow, EVENT_COMPLETED, &flow->traffic->completed_us);
}

int flow_socket(int type, uint32_t mark)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || (marked && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark))) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("making a socket", "", "", "%s", strerror(errno));
	return fd;
}

void thread_start(void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int problem;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	problem = pthread_create(&thread, &attributes, run, argument);
	if (problem)
		die("starting a thread", "", "raise memory_mb", "%s", strerror(problem));
	pthread_attr_destroy(&attributes);
}

static void prepare_in(struct node *node, struct flow *flow)
{
	if (flow->to == node) {
		if (flow->kind == FLOW_UDP)
			udp_prepare_receiver(flow);
		else if (flow->kind != FLOW_IPERF3)
			flow->traffic->listener_fd = tcp_listener(flow);
	}
	if (flow->from == node) {
		if (flow->kind == FLOW_UDP)
			udp_prepare_sender(flow);
		else if (flow->kind == FLOW_TCP)
			flow->traffic->sender_fd = tcp_sender(flow);
	}
}

void flows_prepare(struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		struct traffic *traffic = need_memory(1, sizeof(*traffic));

		*traffic = (struct traffic){
			.plan = plan,
			.sender_fd = -1,
			.receiver_fd = -1,
			.listener_fd = -1,
			.connected_us = NEVER,
			.stopped_us = NEVER,
			.completed_us = NEVER,
			.min_rtt_us = UINT32_MAX,
		};
		plan->flows[i].traffic = traffic;
	}
	for (size_t i = 0; i < plan->node_count; i++) {
		if (plan->nodes[i].elsewhere)
			continue;
		enter_node(&plan->nodes[i]);
		for (size_t j = 0; j < plan->flow_count; j++)
			prepare_in(&plan->nodes[i], &plan->flows[j]);
		leave_node();
	}
	for (size_t i = 0; i < plan->flow_count; i++)
		if (plan->flows[i].kind == FLOW_IPERF3)
			iperf3_prepare(&plan->flows[i]);
}

void flows_start(struct plan *plan)
{
	static void *(*const senders[])(void *) = {
		[FLOW_TCP] = tcp_send_thread,
		[FLOW_UDP] = udp_send_thread,
		[FLOW_WEB] = web_send_thread,
		[FLOW_IPERF3] = iperf3_send_thread,
	};
	static void *(*const receivers[])(void *) = {
		[FLOW_TCP] = tcp_receive_thread,
		[FLOW_UDP] = udp_receive_thread,
		[FLOW_WEB] = tcp_receive_thread,
		[FLOW_IPERF3] = iperf3_receive_thread,
	};

	for (size_t i = 0; i < plan->flow_count; i++) {
		struct flow *flow = &plan->flows[i];

		if (flow->start_us >= flow_end_us(flow))
			continue;
		if (!flow->to->elsewhere)
			thread_start(receivers[flow->kind], flow);
		if (!flow->from->elsewhere)
			thread_start(senders[flow->kind], flow);
	}
}

static bool still_sends(const struct plan *plan, const struct flow *flow)
{
	return !flow->from->elsewhere && flow->start_us < plan->duration_us &&
	       flow->traffic->stopped_us == NEVER;
}

void flows_settle(const struct plan *plan)
{
	uint64_t until_ns = clock_now_ns() + SETTLE_NS;
	bool settled = false;

	while (!settled && clock_now_ns() < until_ns) {
		settled = true;
		pthread_mutex_lock(&traffic_lock);
		for (size_t i = 0; i < plan->flow_count; i++)
			settled &= !still_sends(plan, &plan->flows[i]);
		pthread_mutex_unlock(&traffic_lock);
		if (!settled)
			clock_wait_surely(clock_now_ns() + SETTLE_LOOK_NS);
	}
}

void flows_count(struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		struct flow *flow = &plan->flows[i];
		struct traffic *traffic = flow->traffic;

		if (flow->kind == FLOW_UDP) {
			if (traffic->receiver_fd >= 0)
				udp_drain(flow);
			continue;
		}
		if (traffic->sender_fd >= 0 && traffic->connected_us != NEVER && !traffic->over)
			tcp_account_sender(flow, traffic->sender_fd);
		if (traffic->receiver_fd >= 0)
			tcp_account_receiver(flow, traffic->receiver_fd);
	}
}
