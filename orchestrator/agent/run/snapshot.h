/* The counters of all devices, queues and nodes, at one instant of virtual time. */
#ifndef LONGHAUL_SNAPSHOT_H
#define LONGHAUL_SNAPSHOT_H

#include "net/links.h"
#include "net/qdisc_kinds.h"

struct node_snapshot {
	struct qdisc_reading *qdiscs;
	size_t qdisc_count;
	char snmp[4096];
};

struct snapshot {
	struct device_counters *devices; /* [wire * 2 + end] */
	struct node_snapshot *nodes;
	uint64_t took_us; /* in real time, where counters change while they are read */
};

void snapshot_take(const struct plan *plan, struct snapshot *snapshot);

#endif
