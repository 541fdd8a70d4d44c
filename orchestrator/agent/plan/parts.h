/* What several lists of run.json have in common: names of nodes and devices, parameters. */
#ifndef LONGHAUL_PLAN_PARTS_H
#define LONGHAUL_PLAN_PARTS_H

#include "plan/json.h"
#include "plan/plan.h"

/* [{"node", "address", "device", "link"}, ...]: nodes that are real hosts. */
void plan_read_hosts(struct plan *plan, const struct json *list);

/* What a name stands for; an unknown one is refused. */
struct node *plan_find_node(struct plan *plan, const struct json *value);
struct end *plan_find_end(struct plan *plan, const struct json *node, const struct json *dev);

/* {"name": "value", ...} */
struct pair *plan_read_params(const struct json *object, size_t *count);

#endif
