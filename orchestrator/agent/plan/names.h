/* Names in run.json: of nodes, of their devices, of parameters; and the nodes that are real hosts. */
#ifndef LONGHAUL_NAMES_H
#define LONGHAUL_NAMES_H

#include "plan/plan.h"
#include "system/json_reader.h"

/* [{"node", "address", "device", "link"}, ...]: nodes that are real hosts. */
void plan_read_hosts(struct plan *plan, const struct json *list);

/* The node or device of that name; an unknown name is refused. */
struct node *plan_find_node(struct plan *plan, const struct json *value);
struct end *plan_find_end(struct plan *plan, const struct json *node, const struct json *dev);

/* {"name": "value", ...} */
struct pair *plan_read_params(const struct json *object, size_t *count);

#endif
