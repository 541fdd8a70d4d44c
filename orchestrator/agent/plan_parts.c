/* Names of nodes and devices are resolved here, once. */
#include "plan_parts.h"

#include <string.h>

#include "die.h"
#include "fields.h"

struct node *plan_find_node(struct plan *plan, const struct json *value)
{
	const char *name = fields_expect(value, JSON_TEXT)->text;

	for (size_t i = 0; i < plan->node_count; i++)
		if (!strcmp(plan->nodes[i].name, name))
			return &plan->nodes[i];
	fields_refuse(value, "no node is called '%s'", name);
}

struct end *plan_find_end(struct plan *plan, const struct json *node, const struct json *dev)
{
	const struct node *owner = plan_find_node(plan, node);
	const char *name = fields_expect(dev, JSON_TEXT)->text;

	for (size_t i = 0; i < 2 * plan->wire_count; i++) {
		struct end *end = &plan->wires[i / 2].ends[i % 2];

		if (end->node == owner && !strcmp(end->dev, name))
			return end;
	}
	fields_refuse(dev, "node '%s' has no device '%s'", owner->name, name);
}

struct pair *plan_read_params(const struct json *object, size_t *count)
{
	struct pair *params;
	size_t i = 0;

	*count = fields_expect(object, JSON_OBJECT)->count;
	params = need_memory(*count, sizeof(*params));
	for (const struct json *param = object->members; param; param = param->next)
		params[i++] = (struct pair){param->key, fields_expect(param, JSON_TEXT)->text};
	return params;
}
