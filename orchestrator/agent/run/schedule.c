/* One change after the other, each by the part of the agent that made what is changed. */
#include "run/schedule.h"

#include "net/links.h"
#include "net/modules.h"
#include "net/qdisc.h"
#include "system/clock.h"
#include "trace/probe.h"
#include "traffic/tcp.h"

static void change_device(const struct change *change, size_t index)
{
	if (change->mtu)
		link_set_mtu(change->end, change->mtu);
	if (change->qdisc_count)
		qdiscs_change(change);
	probe_mark(EVENT_PATH_CHANGED, NO_FLOW, index);
}

static void change_module(const struct change *change, size_t index)
{
	module_set_parameters(&change->module);
	probe_mark(EVENT_FLOW_CHANGED, NO_FLOW, index);
}

/* A flow that is over has no socket to change, and so no event. */
static void change_flow(const struct change *change, size_t index)
{
	if (tcp_change(change))
		probe_mark(EVENT_FLOW_CHANGED, change->flow->id, index);
}

/* A module's parameters are changed in every part of a run. */
static bool is_here(const struct change *change)
{
	switch (change->kind) {
	case CHANGE_DEVICE:
		return !change->end->node->elsewhere;
	case CHANGE_FLOW:
		return !change->flow->from->elsewhere;
	default:
		return true;
	}
}

void schedule_follow(const struct plan *plan)
{
	static void (*const changes[])(const struct change *, size_t) = {
		[CHANGE_DEVICE] = change_device,
		[CHANGE_MODULE] = change_module,
		[CHANGE_FLOW] = change_flow,
	};

	for (size_t i = 0; i < plan->change_count; i++) {
		const struct change *change = &plan->schedule[i];

		if (change->at_us >= plan->duration_us)
			break;
		/* A middle box has its devices on a node that is elsewhere, too. */
		if (plan->part.peer_count && !is_here(change))
			continue;
		clock_wait_surely(change->at_us * NS_PER_US);
		changes[change->kind](change, i);
	}
}
