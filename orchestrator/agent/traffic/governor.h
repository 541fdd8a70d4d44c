/* Holds the flows that leave from here, in sum, to a rate, and their bytes to what a run and a day may have. */
#ifndef LONGHAUL_GOVERNOR_H
#define LONGHAUL_GOVERNOR_H

#include "plan/plan.h"
#include "system/json_writer.h"

/* The most that a flow asks for in frames, also later; 0 where it takes what it gets. */
uint64_t governor_asked_bps(const struct plan *plan, const struct flow *flow);
/* Before any socket is made: the first share of every flow of this node without a rate in the plan. */
void governor_prepare(struct plan *plan, const struct node *node, uint64_t rate_bps,
		      uint64_t run_bytes);
/* From time zero on; so many bytes are left of the day. */
void governor_start(uint64_t left_of_day);
/* Nothing where nothing is governed. */
void governor_write(struct writer *writer);

#endif
