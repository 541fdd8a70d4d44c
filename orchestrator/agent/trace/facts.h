/* facts.json: what was read back, and all counters at one instant of virtual time. */
#ifndef LONGHAUL_FACTS_H
#define LONGHAUL_FACTS_H

#include "net/links.h"
#include "trace/probe.h"
#include "net/qdisc.h"

struct node_snapshot {
	struct qdisc_reading *qdiscs;
	size_t qdisc_count;
	char snmp[4096];
};

struct snapshot {
	struct device_counters *devices; /* [wire * 2 + end] */
	struct node_snapshot *nodes;
	uint64_t took_us; /* by the real clock, in which counters go on while they are read */
};

/* Reads every counter, all at one instant of virtual time. */
void facts_snapshot(const struct plan *plan, struct snapshot *snapshot);

void facts_write(const struct plan *plan, const struct snapshot *snapshot,
		 const struct probe_report *probe);

#endif
