/* Reads the "qdiscs" lists of run.json. */
#ifndef LONGHAUL_QDISCS_H
#define LONGHAUL_QDISCS_H

#include "plan/plan.h"
#include "system/json_reader.h"

void plan_read_qdiscs(const struct json *list, struct qdisc **qdiscs, size_t *count);

/* As the kernel names it. */
const char *qdisc_kind_name(enum qdisc_kind kind);

#endif
