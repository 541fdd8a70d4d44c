/* Holds the flows that leave from here, in sum, to the host's rate, and their bytes to what a run and a day may have. */
#ifndef LONGHAUL_GOVERNOR_H
#define LONGHAUL_GOVERNOR_H

#include "host/limits.h"
#include "trace/writer.h"

/* Before any socket is made: the first share of every flow without a rate of its own. */
void governor_prepare(const struct limits *limits, struct plan *plan, const struct node *node);
/* From time zero on; so many bytes are left of the day. */
void governor_start(uint64_t left_of_day);
/* Frame bytes that this run has sent so far, retransmissions included. */
uint64_t governor_sent(void);
/* Nothing where nothing is governed. */
void governor_write(struct writer *writer);

#endif
