/* Reads run.json. */
#ifndef LONGHAUL_RUN_JSON_H
#define LONGHAUL_RUN_JSON_H

#include "plan/plan.h"

/* Reads and checks the whole plan; anything unknown, missing or out of range is fatal. */
void plan_read(const char *path, struct plan *plan);

#endif
