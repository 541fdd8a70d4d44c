/*
 * Flows whose traffic programs of the host make, which know nothing of the laboratory: a server and a client, each with the files of
 * a world of its own (system/world.h), in the nodes of its flow.
 */
#ifndef LONGHAUL_PROGRAMS_H
#define LONGHAUL_PROGRAMS_H

#include "plan/plan.h"
#include "system/json_writer.h"

/* Starts all servers and waits until they listen; all clients wait. */
void programs_prepare(struct plan *plan);
/* Notes the first connection of a flow. */
void *program_await_thread(void *flow);
/* The client, from the start of a flow to its end. */
void *program_run_thread(void *flow);
void program_count(struct flow *flow);
/* What only a flow of a program has, as an object of facts.json. */
void program_write(struct writer *writer, const struct flow *flow);

#endif
