/*
 * One transfer over several streams, whose flows are a group of the plan. Streams take the next block of it when the kernel has
 * taken the last one from them, as those of bbcp and GridFTP do: a fast stream sends more blocks than a slow one, and all of
 * them end at about the same time.
 */
#ifndef LONGHAUL_TRANSFER_H
#define LONGHAUL_TRANSFER_H

#include "plan/plan.h"

/* Gives the streams of each group what they share. */
void transfers_prepare(struct plan *plan);
/* The bytes of a stream's next block; 0 if the whole transfer is taken. */
uint64_t transfer_take(const struct flow *flow);

#endif
