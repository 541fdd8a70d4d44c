/* This guest as one part of a run in several guests: kmod/lh_wire.c is the other side. */
#ifndef LONGHAUL_PART_H
#define LONGHAUL_PART_H

#include "plan/plan.h"

/* Loads the module that makes wires to other parts. Nothing, if the run has one part. */
void part_prepare(const struct plan *plan);
/* The instant that all parts take for time zero: the latest that one of them proposes. */
uint64_t part_agree_epoch(const struct plan *plan, uint64_t proposed_ns);
/* The run is over here: no other part waits for this one any more. */
void part_end(const struct plan *plan);

#endif
