/* What changes during a run: devices, modules, flows. */
#ifndef LONGHAUL_SCHEDULE_H
#define LONGHAUL_SCHEDULE_H

#include "plan/plan.h"

/* Makes each change at its time, reads it back and marks it in the trace; returns after the last. */
void schedule_follow(const struct plan *plan);

#endif
