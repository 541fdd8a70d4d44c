/* Reading of the "qdiscs" lists of run.json. */
#ifndef LONGHAUL_PLAN_QDISC_H
#define LONGHAUL_PLAN_QDISC_H

#include "plan/json.h"
#include "plan/plan.h"

void plan_read_qdiscs(const struct json *list, struct qdisc **qdiscs, size_t *count);

#endif
