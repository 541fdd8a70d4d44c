/* Reading of the "schedule" list of run.json. */
#ifndef LONGHAUL_PLAN_SCHEDULE_H
#define LONGHAUL_PLAN_SCHEDULE_H

#include "plan/json.h"
#include "plan/plan.h"

/* Nodes, wires and flows are read before. */
void plan_read_schedule(struct plan *plan, const struct json *list);

#endif
