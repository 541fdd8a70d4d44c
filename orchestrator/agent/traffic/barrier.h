/*
 * The clients of one host that ask in rounds. A round begins when all of them are ready: each has its connection and the response of
 * the round before. Then they ask at one instant, in the order of the plan. A client that has lost its connection is never ready
 * again, so that no further round begins.
 */
#ifndef LONGHAUL_BARRIER_H
#define LONGHAUL_BARRIER_H

#include "plan/plan.h"

/* Gives the clients of each group what they share. */
void barriers_prepare(struct plan *plan);
/*
 * Waits for this client's turn in the next round, which begins at `due_ns` or when the last client is ready; then `due_ns` is that of
 * all. False if the flow ends first.
 */
bool barrier_wait(const struct flow *flow, uint64_t *due_ns);
/* This client has its response of the round; the last one notes the round. */
void barrier_note_response(const struct flow *flow, uint64_t ended_ns);

#endif
