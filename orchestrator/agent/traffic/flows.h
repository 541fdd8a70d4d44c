/*
 * All flows of the plan. Each has a sending and a receiving thread; sockets are made beforehand, inside the
 * nodes. Threads block in as few and as long system calls as there can be.
 */
#ifndef LONGHAUL_FLOWS_H
#define LONGHAUL_FLOWS_H

#include "plan/plan.h"

/* Makes the sockets, in their nodes. */
void flows_prepare(struct plan *plan);
/* Starts the threads; they wait for the flows' own times. */
void flows_start(struct plan *plan);
/* What a sender still has in its buffers is dropped when this process ends. */
void flows_abort(const struct plan *plan);
/* In real time each thread notices the end of the run by itself: waits for the senders here, which count themselves. */
void flows_settle(const struct plan *plan);
/* At the end of the run: what receivers and unfinished senders have counted so far. */
void flows_count(struct plan *plan);
/* The events of flows that stopped with the run, in virtual time. */
void flows_note_end(const struct plan *plan);

#endif
