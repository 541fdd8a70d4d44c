/* Samples of the queues of links: records of length, drops, marks and packets passed. */
#ifndef LONGHAUL_SAMPLER_QUEUES_H
#define LONGHAUL_SAMPLER_QUEUES_H

#include "plan/plan.h"

void sample_queues_open(const struct plan *plan);
void sample_queues(const struct plan *plan, uint64_t now_ns);

#endif
