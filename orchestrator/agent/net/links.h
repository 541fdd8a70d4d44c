/* The graph of the plan: namespaces, wires, addresses, neighbours, routes, offloads. */
#ifndef LONGHAUL_LINKS_H
#define LONGHAUL_LINKS_H

#include <stdint.h>

#include "plan/plan.h"

/* Moves the calling thread into a node's network namespace. */
void enter_node(const struct node *node);
/* Back to the namespace the agent was born in. */
void leave_node(void);

/* From here on devices of lent nodes get this alias. */
void links_mark(const char *text);

/* The nodes that are this machine itself; those that are elsewhere are none of ours. */
void nodes_adopt(struct plan *plan);
/* One namespace a node, or the one that was lent for it, each with its sockets, loopback up. */
void nodes_create(struct plan *plan);
/* Everything else, read back. */
void links_create(struct plan *plan);
/* Changes the MTU of one device, read back. */
void link_set_mtu(struct end *end, uint32_t mtu);

struct device_counters {
	uint64_t rx_packets, rx_bytes, rx_dropped, tx_packets, tx_bytes, tx_dropped;
};
/* Counters of each end of each wire, [wire * 2 + end]. */
void links_count(const struct plan *plan, struct device_counters *counters);

struct request;
/* Asks the kernel for something about a thing of a node; a refusal is fatal and says why. */
void ask_node(const struct node *node, struct request *request, const char *attempting,
	      const char *thing);

/* Refuses a value read back: names node, device, option, what was asked and what was read. */
_Noreturn void refuse_reading(const struct end *end, const char *option, const char *asked,
			      const char *read);
/* The same for numbers, only if they differ. */
void compare_number(const struct end *end, const char *option, uint64_t asked, uint64_t read);

#endif
