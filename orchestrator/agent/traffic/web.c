/*
 * A web-like background: one user who again and again fetches something of Pareto size over a new
 * connection and then thinks for an exponential time. Both are drawn from the flow's seed.
 */
#include "traffic/web.h"

#include <unistd.h>

#include "net/nodes.h"
#include "system/clock.h"
#include "system/random.h"
#include "traffic/flow.h"
#include "traffic/tcp.h"

/* One fetch; false if it was the last. */
static bool fetch(struct flow *flow, uint64_t bytes)
{
	int fd = tcp_sender(flow);
	bool connected, ended = false;

	connected = tcp_connect(flow, fd);
	if (connected) {
		tcp_set_present(flow, fd);
		ended = tcp_send(flow, fd, bytes) && tcp_wait_end(flow, fd);
		tcp_account_sender(flow, fd);
		tcp_set_present(flow, -1);
	}
	if (ended)
		close(fd);
	else if (!flow_lasts(flow) || flow->traffic->plan->resets_at_end)
		tcp_abort(fd);
	return ended;
}

void *web_send_thread(void *argument)
{
	struct flow *flow = argument;
	struct draws draws;

	draws_seed(&draws, flow->seed);
	enter_node(flow->from);
	clock_wait(flow->start_us * NS_PER_US);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	while (!clock_interrupted()) {
		if (!fetch(flow, draw_pareto(&draws, flow->mean_bytes, flow->shape_milli)))
			break;
		clock_wait(clock_now_ns() + draw_exponential(&draws, flow->think_us * NS_PER_US));
	}
	clock_interrupt_never();
	flow_stopped(flow);
	return NULL;
}
