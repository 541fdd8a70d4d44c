/* The wires of the plan between its nodes: devices, addresses, neighbours, routes, offloads, bridges. */
#ifndef LONGHAUL_LINKS_H
#define LONGHAUL_LINKS_H

#include <stdint.h>

#include "plan/plan.h"

/* From here on devices of lent nodes get this alias. */
void links_mark(const char *text);

/* Everything that the plan has beside nodes and queues; read back. */
void links_create(struct plan *plan);
/* Changes the MTU of one device, read back. */
void link_set_mtu(struct end *end, uint32_t mtu);

struct device_counters {
	uint64_t rx_packets, rx_bytes, rx_dropped, tx_packets, tx_bytes, tx_dropped;
};
/* Counters of each end of each wire, [wire * 2 + end]. */
void links_count(const struct plan *plan, struct device_counters *counters);

#endif
