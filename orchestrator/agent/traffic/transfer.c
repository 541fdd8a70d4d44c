/* What is left of a transfer is a number under the lock of all flows. */
#include "traffic/transfer.h"

#include <string.h>

#include "system/fatal.h"
#include "traffic/flow.h"

struct transfer {
	uint64_t left; /* bytes that no stream has taken */
};

static struct flow *first_of_group(struct plan *plan, const struct flow *flow)
{
	struct flow *first = plan->flows;

	while (first->kind != FLOW_TCP || !first->group || strcmp(first->group, flow->group))
		first++;
	return first;
}

void transfers_prepare(struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		struct flow *flow = &plan->flows[i], *first;

		if (!flow->group || flow->kind != FLOW_TCP)
			continue;
		first = first_of_group(plan, flow);
		if (first == flow) {
			flow->traffic->transfer = need_memory(1, sizeof(struct transfer));
			flow->traffic->transfer->left = flow->bytes;
		}
		flow->traffic->transfer = first->traffic->transfer;
	}
}

uint64_t transfer_take(const struct flow *flow)
{
	struct transfer *transfer = flow->traffic->transfer;
	uint64_t bytes;

	pthread_mutex_lock(&traffic_lock);
	bytes = transfer->left < flow->block_bytes ? transfer->left : flow->block_bytes;
	transfer->left -= bytes;
	pthread_mutex_unlock(&traffic_lock);
	return bytes;
}
