/* Programs that the agent starts inside nodes, and those of their sockets that it shares. */
#ifndef LONGHAUL_CHILDREN_H
#define LONGHAUL_CHILDREN_H

#include "plan/plan.h"

/*
 * Starts a program, its standard output into a file; it dies with the thread that starts it. If `last`, it runs only when
 * nothing else wants to.
 */
pid_t child_start(const struct node *node, char *const words[], const char *output, bool last);
/* Whether it is still running; one that has ended stays to be waited for. */
bool child_runs(pid_t pid);
/* Waits for its end; false if a signal came first. `status` is wait(2)'s. */
bool child_wait(pid_t pid, int *status);
/* The agent's descriptor of the first of the child's sockets that `wanted` accepts, -1 if there is none. */
int child_socket(pid_t pid, bool (*wanted)(int fd, const void *subject), const void *subject);

#endif
