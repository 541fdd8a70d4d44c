/* Reads the "schedule" list of run.json. */
#ifndef LONGHAUL_CHANGES_H
#define LONGHAUL_CHANGES_H

#include "plan/plan.h"
#include "system/json_reader.h"

/* Call it after nodes, wires and flows have been read. */
void plan_read_schedule(struct plan *plan, const struct json *list);

#endif
