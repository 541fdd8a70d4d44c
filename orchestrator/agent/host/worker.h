/* One host's share of a run, in real time, from an instant common to all: an endpoint's flows and trace, or a middle box's queues. */
#ifndef LONGHAUL_WORKER_H
#define LONGHAUL_WORKER_H

#include "host/limits.h"

#define WORKER_READY 'r'
#define WORKER_DONE  'd'

/*
 * In the run directory. Writes WORKER_READY when it could start, reads the start (nanoseconds of the monotonic clock),
 * writes WORKER_DONE when its facts and its status are written, and ends when the other pipe is closed.
 */
_Noreturn void worker_run(const struct limits *limits, const char *node, const char *directory,
			  bool emulates, int orders_fd, int answers_fd);

#endif
