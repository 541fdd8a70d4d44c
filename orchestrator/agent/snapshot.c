/*
 * A system call that reads the clock moves virtual time by 256 ns, so a packet may move between two
 * of the readings. A snapshot is good when the next one is the same; on a path so fast that no two
 * agree the last one stands, and a sum over it may be off by the packets of a microsecond.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "die.h"
#include "facts.h"

#define TRIES 8

static void take(const struct plan *plan, struct snapshot *snapshot)
{
	snapshot->devices = need_memory(2 * plan->wire_count, sizeof(*snapshot->devices));
	snapshot->nodes = need_memory(plan->node_count, sizeof(*snapshot->nodes));
	links_count(plan, snapshot->devices);
	for (size_t i = 0; i < plan->node_count; i++) {
		struct node_snapshot *node = &snapshot->nodes[i];

		node->qdiscs = qdiscs_read(&plan->nodes[i], &node->qdisc_count);
		if (pread(plan->nodes[i].snmp_fd, node->snmp, sizeof(node->snmp) - 1, 0) < 0)
			die("reading counters of node", plan->nodes[i].name, "", "%s",
			    strerror(errno));
	}
}

static void let_go(const struct plan *plan, struct snapshot *snapshot)
{
	for (size_t i = 0; i < plan->node_count; i++)
		free(snapshot->nodes[i].qdiscs);
	free(snapshot->nodes);
	free(snapshot->devices);
}

static bool agree(const struct plan *plan, const struct snapshot *one, const struct snapshot *two)
{
	if (memcmp(one->devices, two->devices, 2 * plan->wire_count * sizeof(*one->devices)))
		return false;
	for (size_t i = 0; i < plan->node_count; i++)
		for (size_t j = 0; j < one->nodes[i].qdisc_count; j++)
			if (memcmp(&one->nodes[i].qdiscs[j].counters,
				   &two->nodes[i].qdiscs[j].counters,
				   sizeof(struct qdisc_counters)))
				return false;
	return true;
}

void facts_snapshot(const struct plan *plan, struct snapshot *snapshot)
{
	struct snapshot before;

	take(plan, snapshot);
	for (int i = 0; i < TRIES; i++) {
		bool good;

		before = *snapshot;
		take(plan, snapshot);
		good = agree(plan, &before, snapshot);
		let_go(plan, &before);
		if (good)
			return;
	}
}
