/* Recorded links: their tables, from files into the kernel. */
#ifndef LONGHAUL_RECORDINGS_H
#define LONGHAUL_RECORDINGS_H

#include "plan/plan.h"

/* Gives the tables of this guest's links to the kernel; they have no effect before they begin. */
void recordings_load(const struct plan *plan);

/* From that instant of the monotonic clock on the tables hold. */
void recordings_begin(const struct plan *plan, uint64_t at_ns);

#endif
