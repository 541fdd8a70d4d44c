/* The sockets of programs, which the kernel module lh_programs marks and counts; the agent never has them. */
#ifndef LONGHAUL_PROGRAM_SOCKETS_H
#define LONGHAUL_PROGRAM_SOCKETS_H

#include "plan/plan.h"

enum program_side { PROGRAM_SERVER, PROGRAM_CLIENT };

/* What is not of one connection: listening sockets of the server; the most connections at once; those with other hosts. */
struct program_totals {
	unsigned int listening, most, elsewhere, connections;
};

/* From here on the module knows the flow. */
void program_sockets_add(const struct flow *flow);
/* The calling process, which has a mount namespace of its own, is this side of the flow: an error number, or 0. */
int program_sockets_take(const struct flow *flow, enum program_side side);
/* Waits for the first connection of a flow. */
void program_sockets_await(const struct flow *flow);
/* What a client has not sent yet it never sends, from here on. */
void program_sockets_reset(const struct flow *flow);
struct program_totals program_sockets_look(const struct flow *flow);
/* Sets the counts of a flow's connections, closed or not. */
void program_sockets_count(struct flow *flow);

#endif
