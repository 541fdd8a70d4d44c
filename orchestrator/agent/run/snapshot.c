/*
 * Virtual time stands still while the agent works, and by now it is the last to work in its instant
 * (run.c): so all counters are of one instant, however long the reading takes.
 */
#include "run/snapshot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "net/qdisc.h"
#include "system/clock.h"
#include "system/fatal.h"

void snapshot_take(const struct plan *plan, struct snapshot *snapshot)
{
	uint64_t begun_ns = plan->real_clock ? clock_now_ns() : 0;

	snapshot->devices = need_memory(2 * plan->wire_count, sizeof(*snapshot->devices));
	snapshot->nodes = need_memory(plan->node_count, sizeof(*snapshot->nodes));
	links_count(plan, snapshot->devices);
	for (size_t i = 0; i < plan->node_count; i++) {
		struct node_snapshot *node = &snapshot->nodes[i];

		if (plan->nodes[i].elsewhere)
			continue;
		node->qdiscs = qdiscs_read(&plan->nodes[i], &node->qdisc_count);
		if (pread(plan->nodes[i].snmp_fd, node->snmp, sizeof(node->snmp) - 1, 0) < 0)
			die("reading counters of node", plan->nodes[i].name, "", "%s",
			    strerror(errno));
	}
	snapshot->took_us = plan->real_clock ? (clock_now_ns() - begun_ns) / NS_PER_US : 0;
}
