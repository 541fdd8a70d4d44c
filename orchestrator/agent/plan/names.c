/* Each name is resolved once, when the plan is read: later code follows pointers. */
#include "plan/names.h"

#include <string.h>

#include "plan/fields.h"
#include "system/fatal.h"

struct node *plan_find_node(struct plan *plan, const struct json *value)
{
	const char *name = fields_expect(value, JSON_TEXT)->text;

	for (size_t i = 0; i < plan->node_count; i++)
		if (!strcmp(plan->nodes[i].name, name))
			return &plan->nodes[i];
	fields_refuse(value, "no node is called '%s'", name);
}

void plan_read_hosts(struct plan *plan, const struct json *list)
{
	struct reading {
		struct in_addr address;
		const struct json *node;
		const char *device;
		uint32_t link;
	};
	static const struct field fields[] = {
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("address", struct reading, address, FIELD_IPV4),
		NEED("device", struct reading, device, FIELD_TEXT),
		MAYBE("link", struct reading, link, FIELD_U32, NO_LINK),
		IGNORE("rate_bps"),
	};

	for (EACH(item, list)) {
		struct reading reading = {0};
		struct node *node;

		fields_read(item, fields, COUNT(fields), &reading);
		node = plan_find_node(plan, reading.node);
		if (strchr(reading.device, '/') || strlen(reading.device) >= IFNAMSIZ)
			fields_refuse(item, "'%s' is no name of a device", reading.device);
		node->host_address = reading.address;
		node->device = reading.device;
		node->link = reading.link;
	}
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
