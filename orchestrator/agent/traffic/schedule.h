/* What changes while a run goes on: devices, modules, flows. */
#ifndef LONGHAUL_SCHEDULE_H
#define LONGHAUL_SCHEDULE_H

#include "plan/plan.h"

/* Makes each change at its time, reads it back and tells the probe; returns after the last. */
void schedule_follow(const struct plan *plan);

#endif
