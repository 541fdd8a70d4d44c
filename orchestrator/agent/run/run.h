/* The course of one run, the same wherever the nodes come from: a guest makes them, Mininet lends them. */
#ifndef LONGHAUL_RUN_H
#define LONGHAUL_RUN_H

#include "plan/plan.h"

/* What a process needs to keep the times of a plan and to hold its sockets. */
void run_prepare(void);
/* Modules, nodes, wires, settings and queues as the plan asks, all read back. */
void run_set_up(struct plan *plan);
/* The whole run: set-up, flows, schedule, counters, facts.json; a failure ends in status.json (fatal.h). */
void run_execute(struct plan *plan);

#endif
