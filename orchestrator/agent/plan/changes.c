/* Each change has a "node", a "module" or a "flow": that is what it changes. */
#include "plan/changes.h"

#include <stdbool.h>

#include "plan/fields.h"
#include "plan/names.h"
#include "plan/qdiscs.h"
#include "system/fatal.h"

static void read_device(struct plan *plan, const struct json *item, struct change *change)
{
	struct reading {
		uint64_t at_us;
		uint32_t mtu;
		const struct json *node, *dev, *qdiscs;
	} reading;
	static const struct field fields[] = {
		NEED("at_us", struct reading, at_us, FIELD_U64),
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("dev", struct reading, dev, FIELD_VALUE),
		NEED("qdiscs", struct reading, qdiscs, FIELD_VALUE),
		MAYBE("mtu", struct reading, mtu, FIELD_U32, 0),
	};

	fields_read(item, fields, COUNT(fields), &reading);
	change->kind = CHANGE_DEVICE;
	change->at_us = reading.at_us;
	change->mtu = reading.mtu;
	change->end = plan_find_end(plan, reading.node, reading.dev);
	plan_read_qdiscs(reading.qdiscs, &change->qdiscs, &change->qdisc_count);
}

static void read_module(const struct json *item, struct change *change)
{
	struct reading {
		uint64_t at_us;
		const char *module;
		const struct json *params;
	} reading;
	static const struct field fields[] = {
		NEED("at_us", struct reading, at_us, FIELD_U64),
		NEED("module", struct reading, module, FIELD_TEXT),
		NEED("params", struct reading, params, FIELD_VALUE),
	};

	fields_read(item, fields, COUNT(fields), &reading);
	change->kind = CHANGE_MODULE;
	change->at_us = reading.at_us;
	change->module.name = reading.module;
	change->module.params = plan_read_params(reading.params, &change->module.param_count);
}

static void read_flow(struct plan *plan, const struct json *item, struct change *change)
{
	struct reading {
		uint64_t at_us, max_pacing_bps;
		uint32_t flow;
		const char *cc;
	} reading;
	static const struct field fields[] = {
		NEED("at_us", struct reading, at_us, FIELD_U64),
		NEED("flow", struct reading, flow, FIELD_U32),
		MAYBE("cc", struct reading, cc, FIELD_TEXT, 0),
		MAYBE("max_pacing_bps", struct reading, max_pacing_bps, FIELD_U64, NEVER),
	};

	fields_read(item, fields, COUNT(fields), &reading);
	if (reading.flow >= plan->flow_count || plan->flows[reading.flow].kind == FLOW_UDP ||
	    plan->flows[reading.flow].kind == FLOW_WEB)
		fields_refuse(item, "flow %u is no TCP flow of the plan", reading.flow);
	change->kind = CHANGE_FLOW;
	change->at_us = reading.at_us;
	change->flow = &plan->flows[reading.flow];
	change->cc = reading.cc;
	change->max_pacing_bps = reading.max_pacing_bps;
}

void plan_read_schedule(struct plan *plan, const struct json *list)
{
	uint64_t last_us = 0;

	plan->change_count = fields_expect(list, JSON_LIST)->count;
	plan->schedule = need_memory(plan->change_count, sizeof(*plan->schedule));
	for (EACH(item, list)) {
		struct change *change = &plan->schedule[item->index];

		fields_expect(item, JSON_OBJECT);
		if (json_member(item, "flow"))
			read_flow(plan, item, change);
		else if (json_member(item, "module"))
			read_module(item, change);
		else
			read_device(plan, item, change);
		if (change->at_us < last_us)
			fields_refuse(item, "a schedule is in the order of time");
		last_us = change->at_us;
	}
}
