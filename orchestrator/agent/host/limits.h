/* What the operator allows on this host: /etc/longhaul/limits.json. No run of any user goes beyond it. */
#ifndef LONGHAUL_LIMITS_H
#define LONGHAUL_LIMITS_H

#include "plan/plan.h"

#define LIMITS_FILE "/etc/longhaul/limits.json"

struct peer {
	struct in_addr address;
	bool provisioned; /* UDP may be used, and controls that yield to no other */
};

struct limits {
	const char *host, *device;
	struct in_addr address;
	uint16_t first_port, last_port;
	uint64_t rate_bps; /* of all flows together, in frames */
	uint64_t run_bytes, day_bytes;
	uint64_t longest_us;
	uint64_t silence_us; /* of the controller, after which everything ends */
	struct peer *peers;
	size_t peer_count;
	const char **emulates; /* devices that a path may be emulated on */
	size_t emulate_count;
	const char **yielding; /* congestion controls */
	size_t yielding_count;
};

/* Fatal if there are none. */
void limits_read(struct limits *limits);
bool limits_allow_port(const struct limits *limits, uint16_t port);
const struct peer *limits_find_peer(const struct limits *limits, struct in_addr address);
/* Fatal if this node's share of the plan goes beyond the limits. */
void limits_hold(const struct limits *limits, const struct plan *plan, const struct node *node);

#endif
