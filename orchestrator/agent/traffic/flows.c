/* One row a kind of flow: what makes its sockets, what its threads run, what counts it at the end. */
#include "traffic/flows.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "net/nodes.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "system/threads.h"
#include "traffic/barrier.h"
#include "traffic/flow.h"
#include "traffic/iperf3_client.h"
#include "traffic/iperf3_server.h"
#include "traffic/pings.h"
#include "traffic/programs.h"
#include "traffic/requests.h"
#include "traffic/tcp.h"
#include "traffic/transfer.h"
#include "traffic/udp.h"
#include "traffic/web.h"

#define SETTLE_NS      (2 * NS_PER_S)
#define SETTLE_LOOK_NS 1000000

static const struct {
	/* Inside the node; NULL: the threads do it. */
	void (*prepare_receiver)(struct flow *flow), (*prepare_sender)(struct flow *flow);
	void *(*receive)(void *flow), *(*send)(void *flow);
	void (*count)(struct flow *flow);
} kinds[] = {
	[FLOW_TCP] = {tcp_prepare_receiver, tcp_prepare_sender, tcp_receive_thread, tcp_send_thread,
		      tcp_count},
	[FLOW_UDP] = {udp_prepare_receiver, udp_prepare_sender, udp_receive_thread, udp_send_thread,
		      udp_count},
	[FLOW_WEB] = {tcp_prepare_receiver, NULL, tcp_receive_thread, web_send_thread, tcp_count},
	[FLOW_PROGRAM] = {NULL, NULL, program_await_thread, program_run_thread, program_count},
	[FLOW_REQUESTS] = {NULL, requests_prepare_server, requests_ask_thread,
			   requests_serve_thread, tcp_count},
	[FLOW_PINGS] = {pings_prepare_client, pings_prepare_server, pings_ask_thread,
			pings_serve_thread, pings_count},
	[FLOW_IPERF3] = {NULL, NULL, iperf3_receive_thread, iperf3_send_thread, tcp_count},
};

static void prepare_in(const struct node *node, struct flow *flow)
{
	if (flow->to == node && kinds[flow->kind].prepare_receiver)
		kinds[flow->kind].prepare_receiver(flow);
	if (flow->from == node && kinds[flow->kind].prepare_sender)
		kinds[flow->kind].prepare_sender(flow);
}

static void make_traffic(const struct plan *plan, struct flow *flow)
{
	struct flow_counters *counters = need_memory(1, sizeof(*counters));
	struct traffic *traffic = need_memory(1, sizeof(*traffic));

	*counters = (struct flow_counters){
		.connected_us = NEVER,
		.stopped_us = NEVER,
		.completed_us = NEVER,
		.min_rtt_us = UINT32_MAX,
	};
	*traffic = (struct traffic){
		.plan = plan,
		.sender_fd = -1,
		.receiver_fd = -1,
		.listener_fd = -1,
	};
	flow->counters = counters;
	flow->traffic = traffic;
}

void flows_prepare(struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++)
		make_traffic(plan, &plan->flows[i]);
	transfers_prepare(plan);
	barriers_prepare(plan);
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
	programs_prepare(plan);
}

/*
 * Threads that are woken at one instant run in the order of their waking, each until it waits: then it does not matter which
 * hosts are in this guest. In real time they are threads like all others.
 */
static void run_in_order(bool in_order)
{
	struct sched_param parameter = {.sched_priority = in_order};

	if (clock_is_virtual() &&
	    sched_setscheduler(0, in_order ? SCHED_FIFO : SCHED_OTHER, &parameter))
		die("ordering the threads of flows", "", "", "%s", strerror(errno));
}

static void start_threads(struct flow *flow)
{
	if (flow->start_us >= flow_end_us(flow))
		return;
	if (!flow->to->elsewhere)
		thread_start(kinds[flow->kind].receive, flow);
	if (!flow->from->elsewhere)
		thread_start(kinds[flow->kind].send, flow);
}

/*
 * In the order of the hosts that send: what several of them send at one instant comes from a wire in the order of wires, so it
 * has that order in one guest too.
 */
void flows_start(struct plan *plan)
{
	/* Its threads inherit it. */
	run_in_order(true);
	for (size_t i = 0; i < plan->node_count; i++)
		for (size_t j = 0; j < plan->flow_count; j++)
			if (plan->flows[j].from == &plan->nodes[i])
				start_threads(&plan->flows[j]);
	run_in_order(false);
}

void flows_abort(const struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		const struct flow *flow = &plan->flows[i];

		/* Its thread may be asleep in a call on the socket: only the end of this process closes it. */
		if (flow->traffic && flow->traffic->sender_fd >= 0 && !flow->traffic->over)
			tcp_forget(flow->traffic->sender_fd);
	}
}

static bool still_sends(const struct plan *plan, const struct flow *flow)
{
	return !flow->from->elsewhere && flow->start_us < plan->duration_us &&
	       flow->counters->stopped_us == NEVER;
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

void flows_note_end(const struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++)
		if (!plan->flows[i].from->elsewhere)
			flow_note_end(&plan->flows[i]);
}

void flows_count(struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++)
		kinds[plan->flows[i].kind].count(&plan->flows[i]);
}
