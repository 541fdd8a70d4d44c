/* Fills the structures of plan.h: names and texts point into the document. */
#include "plan/run_json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <lh_link.h>
#include <limits.h>
#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>

#include "plan/changes.h"
#include "plan/fields.h"
#include "plan/names.h"
#include "plan/qdiscs.h"
#include "system/fatal.h"
#include "system/json_file.h"

static void read_cidr(const struct json *value, struct in_addr *address, uint8_t *prefix)
{
	const char *text = fields_expect(value, JSON_TEXT)->text;
	const char *slash = strchr(text, '/');
	char host[INET_ADDRSTRLEN] = "", *end = NULL;
	unsigned long bits = 33;

	if (slash && (size_t)(slash - text) < sizeof(host)) {
		memcpy(host, text, (size_t)(slash - text));
		bits = strtoul(slash + 1, &end, 10);
	}
	if (!end || end == slash + 1 || *end || bits > 32 || inet_pton(AF_INET, host, address) != 1)
		fields_refuse(value, "'%s' is not address/prefix", text);
	*prefix = (uint8_t)bits;
}

/* [["name", "value"], ...] */
static struct pair *read_pairs(const struct json *list, size_t *count)
{
	struct pair *pairs;

	*count = fields_expect(list, JSON_LIST)->count;
	pairs = need_memory(*count, sizeof(*pairs));
	for (EACH(pair, list)) {
		if (fields_expect(pair, JSON_LIST)->count != 2)
			fields_refuse(pair, "a name and a value are expected");
		pairs[pair->index] = (struct pair){
			fields_expect(pair->members, JSON_TEXT)->text,
			fields_expect(pair->members->next, JSON_TEXT)->text,
		};
	}
	return pairs;
}

static int read_int(const struct json *value)
{
	const char *text = fields_expect(value, JSON_TEXT)->text;
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (end == text || *end || errno || number < INT_MIN || number > INT_MAX)
		fields_refuse(value, "'%s' is not a number of 32 bits", text);
	return (int)number;
}

/* [["level", "name", "value"], ...] */
static void read_sockopts(struct flow *flow, const struct json *list)
{
	flow->sockopt_count = fields_expect(list, JSON_LIST)->count;
	flow->sockopts = need_memory(flow->sockopt_count, sizeof(*flow->sockopts));
	for (EACH(option, list)) {
		const struct json *part = fields_expect(option, JSON_LIST)->members;

		if (option->count != 3)
			fields_refuse(option, "a level, a name and a value are expected");
		flow->sockopts[option->index] = (struct socket_option){
			read_int(part), read_int(part->next), read_int(part->next->next)};
	}
}

static void read_nodes(struct plan *plan, const struct json *list)
{
	struct reading {
		struct node node;
		const struct json *sysctls;
	};
	static const struct field fields[] = {
		NEED("name", struct reading, node.name, FIELD_TEXT),
		NEED("bridge", struct reading, node.bridge, FIELD_BOOL),
		NEED("sysctls", struct reading, sysctls, FIELD_VALUE),
		MAYBE("elsewhere", struct reading, node.elsewhere, FIELD_BOOL, false),
		IGNORE("kernel"),
	};

	plan->node_count = fields_expect(list, JSON_LIST)->count;
	plan->nodes = need_memory(plan->node_count, sizeof(*plan->nodes));
	for (EACH(item, list)) {
		struct reading reading = {0};
		struct node *node = &plan->nodes[item->index];

		fields_read(item, fields, COUNT(fields), &reading);
		*node = reading.node;
		node->sysctls = read_pairs(reading.sysctls, &node->sysctl_count);
		node->sysctls_read = need_memory(node->sysctl_count, sizeof(*node->sysctls_read));
	}
}

static void read_end(struct plan *plan, const struct json *object, struct end *end)
{
	struct reading {
		struct end end;
		const struct json *node, *address, *qdiscs, *behind;
	} reading = {0};
	static const struct field mac =
		NEED("behind", struct ether_addr, ether_addr_octet, FIELD_MAC);
	static const struct field fields[] = {
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("dev", struct reading, end.dev, FIELD_TEXT),
		NEED("mac", struct reading, end.mac, FIELD_MAC),
		MAYBE("address", struct reading, address, FIELD_VALUE, 0),
		NEED("mtu", struct reading, end.mtu, FIELD_U32),
		NEED("qdiscs", struct reading, qdiscs, FIELD_VALUE),
		MAYBE("behind", struct reading, behind, FIELD_VALUE, 0),
		MAYBE("offloads", struct reading, end.offloads, FIELD_BOOL, false),
	};

	fields_read(object, fields, COUNT(fields), &reading);
	*end = reading.end;
	if (!*end->dev || strlen(end->dev) >= IFNAMSIZ)
		fields_refuse(object, "device name '%s' must have 1 to %d letters", end->dev,
			      IFNAMSIZ - 1);
	end->node = plan_find_node(plan, reading.node);
	if (reading.address)
		read_cidr(reading.address, &end->address, &end->prefix);
	if (reading.behind) {
		end->behind_count = fields_expect(reading.behind, JSON_LIST)->count;
		end->behind = need_memory(end->behind_count, sizeof(*end->behind));
		for (EACH(host, reading.behind))
			fields_read_one(host, &mac, &end->behind[host->index]);
	}
	plan_read_qdiscs(reading.qdiscs, &end->qdiscs, &end->qdisc_count);
}

static void read_crossing(const struct json *object, struct wire *wire)
{
	static const struct field fields[] = {
		NEED("place", struct wire, place, FIELD_U32),
		NEED("peer", struct wire, peer, FIELD_U32),
		NEED("delay_ns", struct wire, delay_ns, FIELD_U64),
		MAYBE("ahead_ns", struct wire, ahead_ns, FIELD_U64, 0),
	};

	fields_read(object, fields, COUNT(fields), wire);
	wire->crosses = true;
}

static void read_wires(struct plan *plan, const struct json *list)
{
	struct reading {
		const struct json *ends, *crossing;
	};
	static const struct field fields[] = {
		NEED("ends", struct reading, ends, FIELD_VALUE),
		MAYBE("crossing", struct reading, crossing, FIELD_VALUE, 0),
	};

	plan->wire_count = fields_expect(list, JSON_LIST)->count;
	plan->wires = need_memory(plan->wire_count, sizeof(*plan->wires));
	for (EACH(item, list)) {
		struct reading reading;

		fields_read(item, fields, COUNT(fields), &reading);
		if (fields_expect(reading.ends, JSON_LIST)->count != 2)
			fields_refuse(reading.ends, "a wire has two ends");
		for (EACH(end, reading.ends))
			read_end(plan, end, &plan->wires[item->index].ends[end->index]);
		if (reading.crossing)
			read_crossing(reading.crossing, &plan->wires[item->index]);
	}
}

static void read_part(struct plan *plan, const struct json *object)
{
	struct reading {
		struct part part;
		const struct json *peers;
	} reading = {0};
	static const struct field fields[] = {
		NEED("number", struct reading, part.number, FIELD_U32),
		NEED("window_ns", struct reading, part.window_ns, FIELD_U64),
		NEED("arena_bytes", struct reading, part.arena_bytes, FIELD_U64),
		NEED("seed", struct reading, part.seed, FIELD_U64),
		NEED("spins", struct reading, part.spins, FIELD_U32),
		NEED("peers", struct reading, peers, FIELD_VALUE),
	};
	static const struct field peer_fields[] = {
		NEED("number", struct part_peer, number, FIELD_U32),
		NEED("wires", struct part_peer, wires, FIELD_U32),
		NEED("least_delay_ns", struct part_peer, least_delay_ns, FIELD_U64),
	};

	fields_read(object, fields, COUNT(fields), &reading);
	plan->part = reading.part;
	plan->part.peer_count = fields_expect(reading.peers, JSON_LIST)->count;
	if (plan->part.peer_count > MOST_PEERS)
		fields_refuse(reading.peers, "a part has at most %d peers", MOST_PEERS);
	for (EACH(peer, reading.peers))
		fields_read(peer, peer_fields, COUNT(peer_fields), &plan->part.peers[peer->index]);
}

static void read_neighbours(struct plan *plan, const struct json *list)
{
	struct reading {
		struct neighbour neighbour;
		const struct json *node, *dev;
	};
	static const struct field fields[] = {
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("dev", struct reading, dev, FIELD_VALUE),
		NEED("address", struct reading, neighbour.address, FIELD_IPV4),
		NEED("mac", struct reading, neighbour.mac, FIELD_MAC),
	};

	plan->neighbour_count = fields_expect(list, JSON_LIST)->count;
	plan->neighbours = need_memory(plan->neighbour_count, sizeof(*plan->neighbours));
	for (EACH(item, list)) {
		struct reading reading = {0};
		struct neighbour *neighbour = &plan->neighbours[item->index];

		fields_read(item, fields, COUNT(fields), &reading);
		*neighbour = reading.neighbour;
		neighbour->end = plan_find_end(plan, reading.node, reading.dev);
	}
}

static void read_routes(struct plan *plan, const struct json *list)
{
	struct reading {
		struct route route;
		const struct json *node, *to;
	};
	static const struct field fields[] = {
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("to", struct reading, to, FIELD_VALUE),
		NEED("via", struct reading, route.via, FIELD_IPV4),
		MAYBE("initcwnd", struct reading, route.initcwnd, FIELD_U32, 0),
		MAYBE("cwnd_clamp", struct reading, route.cwnd_clamp, FIELD_U32, 0),
		MAYBE("quickack", struct reading, route.quickack, FIELD_BOOL, false),
	};

	plan->route_count = fields_expect(list, JSON_LIST)->count;
	plan->routes = need_memory(plan->route_count, sizeof(*plan->routes));
	for (EACH(item, list)) {
		struct reading reading = {0};
		struct route *route = &plan->routes[item->index];

		fields_read(item, fields, COUNT(fields), &reading);
		*route = reading.route;
		route->node = plan_find_node(plan, reading.node);
		read_cidr(reading.to, &route->to, &route->prefix);
	}
}

static void read_links(struct plan *plan, const struct json *list)
{
	struct reading {
		struct link link;
		const struct json *node, *dev;
	};
	static const struct field fields[] = {
		NEED("id", struct reading, link.id, FIELD_U32),
		NEED("name", struct reading, link.name, FIELD_TEXT),
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("dev", struct reading, dev, FIELD_VALUE),
		NEED("queue", struct reading, link.queue, FIELD_HANDLE),
		IGNORE("rate_bps"),
		IGNORE("one_way_us"),
		IGNORE("queue_limit_packets"),
		IGNORE("queue_limit_bytes"),
		IGNORE("offered_every_us"),
		IGNORE("offered_bytes"),
	};

	plan->link_count = fields_expect(list, JSON_LIST)->count;
	plan->links = need_memory(plan->link_count, sizeof(*plan->links));
	for (EACH(item, list)) {
		struct reading reading = {0};

		fields_read(item, fields, COUNT(fields), &reading);
		plan->links[item->index] = reading.link;
		plan->links[item->index].end = plan_find_end(plan, reading.node, reading.dev);
	}
}

static void read_policers(struct plan *plan, const struct json *list)
{
	struct reading {
		struct policer policer;
		const struct json *node, *dev;
	};
	static const struct field fields[] = {
		NEED("id", struct reading, policer.id, FIELD_U32),
		NEED("name", struct reading, policer.name, FIELD_TEXT),
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("dev", struct reading, dev, FIELD_VALUE),
	};

	plan->policer_count = fields_expect(list, JSON_LIST)->count;
	plan->policers = need_memory(plan->policer_count, sizeof(*plan->policers));
	for (EACH(item, list)) {
		struct reading reading = {0};

		fields_read(item, fields, COUNT(fields), &reading);
		plan->policers[item->index] = reading.policer;
		plan->policers[item->index].end = plan_find_end(plan, reading.node, reading.dev);
	}
}

static const char *const table_kinds[LH_LINK_KINDS] = {
	[LH_LINK_RATES] = "rates",
	[LH_LINK_OPPORTUNITIES] = "opportunities",
	[LH_LINK_DELAYS] = "delays",
	[LH_LINK_LOSSES] = "losses",
	[LH_LINK_LOST_PACKETS] = "lost_packets",
};

static void read_recordings(struct plan *plan, const struct json *list)
{
	struct reading {
		struct recorded_table table;
		const struct json *node, *dev;
		const char *kind;
	};
	static const struct field fields[] = {
		NEED("node", struct reading, node, FIELD_VALUE),
		NEED("dev", struct reading, dev, FIELD_VALUE),
		NEED("kind", struct reading, kind, FIELD_TEXT),
		NEED("file", struct reading, table.file, FIELD_TEXT),
		NEED("rows", struct reading, table.rows, FIELD_U32),
		NEED("end", struct reading, table.length, FIELD_U64),
		NEED("header_bytes", struct reading, table.header_bytes, FIELD_U32),
	};

	plan->recording_count = fields_expect(list, JSON_LIST)->count;
	plan->recordings = need_memory(plan->recording_count, sizeof(*plan->recordings));
	for (EACH(item, list)) {
		struct reading reading = {0};
		uint32_t kind = 0;

		fields_read(item, fields, COUNT(fields), &reading);
		while (kind < LH_LINK_KINDS && strcmp(reading.kind, table_kinds[kind]))
			kind++;
		if (kind == LH_LINK_KINDS)
			fields_refuse(item, "'%s' is not a kind of table the agent knows",
				      reading.kind);
		reading.table.kind = kind;
		reading.table.end = plan_find_end(plan, reading.node, reading.dev);
		plan->recordings[item->index] = reading.table;
	}
}

static void read_modules(struct plan *plan, const struct json *list)
{
	struct reading {
		const char *name;
		const struct json *params;
		bool builtin;
	};
	static const struct field fields[] = {
		NEED("name", struct reading, name, FIELD_TEXT),
		NEED("params", struct reading, params, FIELD_VALUE),
		MAYBE("builtin", struct reading, builtin, FIELD_BOOL, false),
		IGNORE("source"),
	};

	plan->module_count = fields_expect(list, JSON_LIST)->count;
	plan->modules = need_memory(plan->module_count, sizeof(*plan->modules));
	for (EACH(item, list)) {
		struct reading reading;
		struct module *module = &plan->modules[item->index];

		fields_read(item, fields, COUNT(fields), &reading);
		if (strchr(reading.name, '/'))
			fields_refuse(item, "'%s' is not a name of a module", reading.name);
		module->name = reading.name;
		module->builtin = reading.builtin;
		module->params = plan_read_params(reading.params, &module->param_count);
	}
}

static struct programs *read_programs(const struct json *object)
{
	struct reading {
		struct programs program;
		const struct json *server, *client;
	} reading = {0};
	static const struct field fields[] = {
		NEED("server", struct reading, server, FIELD_VALUE),
		NEED("client", struct reading, client, FIELD_VALUE),
		MAYBE("folder", struct reading, program.folder, FIELD_TEXT, 0),
		NEED("server_sends", struct reading, program.server_sends, FIELD_BOOL),
		NEED("connections", struct reading, program.connections, FIELD_U32),
		NEED("server_address", struct reading, program.server_address, FIELD_IPV4),
		NEED("client_address", struct reading, program.client_address, FIELD_IPV4),
	};
	struct programs *program = need_memory(1, sizeof(*program));

	fields_read(object, fields, COUNT(fields), &reading);
	*program = reading.program;
	program->server = fields_texts(reading.server);
	program->client = fields_texts(reading.client);
	if (!*program->server || !*program->client || !program->connections)
		fields_refuse(object, "a program has words, and at least one connection");
	return program;
}

static struct requests *read_requests(const struct json *object)
{
	static const struct field fields[] = {
		NEED("request_bytes", struct requests, request_bytes, FIELD_U64),
		NEED("response_bytes", struct requests, response_bytes, FIELD_U64),
		MAYBE("think_us", struct requests, think_us, FIELD_U64, 0),
		MAYBE("every_us", struct requests, every_us, FIELD_U64, 0),
		MAYBE("count", struct requests, count, FIELD_U64, NEVER),
		MAYBE("new_connection", struct requests, new_connection, FIELD_BOOL, false),
		MAYBE("timeout_us", struct requests, timeout_us, FIELD_U64, 0),
		MAYBE("barrier", struct requests, barrier, FIELD_BOOL, false),
	};
	struct requests *requests = need_memory(1, sizeof(*requests));

	fields_read(object, fields, COUNT(fields), requests);
	if (!requests->request_bytes || !requests->response_bytes || !requests->count)
		fields_refuse(object, "requests and responses have bytes, and there is one");
	return requests;
}

static void read_flow(struct plan *plan, const struct json *item, struct flow *flow)
{
	struct reading {
		struct flow flow;
		const char *kind, *tool;
		const struct json *from, *to, *options, *on_off, *program, *group, *requests;
	} reading = {0};
	static const char *const kinds[] = {
		[FLOW_TCP] = "tcp",	    [FLOW_UDP] = "udp",		  [FLOW_WEB] = "web",
		[FLOW_PROGRAM] = "program", [FLOW_REQUESTS] = "requests",
	};
	static const struct field fields[] = {
		NEED("id", struct reading, flow.id, FIELD_U32),
		NEED("name", struct reading, flow.name, FIELD_TEXT),
		NEED("kind", struct reading, kind, FIELD_TEXT),
		MAYBE("cc", struct reading, flow.cc, FIELD_TEXT, 0),
		IGNORE("variant"),
		NEED("from", struct reading, from, FIELD_VALUE),
		NEED("to", struct reading, to, FIELD_VALUE),
		NEED("address", struct reading, flow.address, FIELD_IPV4),
		NEED("port", struct reading, flow.port, FIELD_U16),
		NEED("start_us", struct reading, flow.start_us, FIELD_U64),
		MAYBE("stop_us", struct reading, flow.stop_us, FIELD_U64, NEVER),
		MAYBE("bytes", struct reading, flow.bytes, FIELD_U64, NEVER),
		MAYBE("options", struct reading, options, FIELD_VALUE, 0),
		MAYBE("seed", struct reading, flow.seed, FIELD_U64, 0),
		IGNORE("forward"),
		IGNORE("back"),
		MAYBE("rate_bps", struct reading, flow.rate_bps, FIELD_U64, 0),
		MAYBE("payload_bytes", struct reading, flow.payload_bytes, FIELD_U32, 0),
		MAYBE("on_off", struct reading, on_off, FIELD_VALUE, 0),
		MAYBE("mean_bytes", struct reading, flow.mean_bytes, FIELD_U64, 0),
		MAYBE("shape_milli", struct reading, flow.shape_milli, FIELD_U32, 0),
		MAYBE("think_us", struct reading, flow.think_us, FIELD_U64, 0),
		MAYBE("tool", struct reading, tool, FIELD_TEXT, 0),
		MAYBE("client_port", struct reading, flow.client_port, FIELD_U16, 0),
		MAYBE("block_bytes", struct reading, flow.block_bytes, FIELD_U32, 0),
		MAYBE("program", struct reading, program, FIELD_VALUE, 0),
		IGNORE("first"),
		MAYBE("group", struct reading, group, FIELD_VALUE, 0),
		MAYBE("requests", struct reading, requests, FIELD_VALUE, 0),
	};
	static const struct field group_fields[] = {
		NEED("name", struct flow, group, FIELD_TEXT),
		IGNORE("flows"),
	};
	static const struct field option_fields[] = {
		MAYBE("max_pacing_bps", struct flow, max_pacing_bps, FIELD_U64, 0),
		MAYBE("window_clamp_bytes", struct flow, window_clamp_bytes, FIELD_U32, 0),
		MAYBE("both_ends", struct flow, both_ends, FIELD_BOOL, false),
		MAYBE("ect", struct flow, ect, FIELD_U8, 0),
		MAYBE("dscp", struct flow, dscp, FIELD_U8, 0),
		IGNORE("sockopts"),
	};
	static const struct field on_off_fields[] = {
		NEED("on_us", struct flow, on_us, FIELD_U64),
		NEED("off_us", struct flow, off_us, FIELD_U64),
	};
	size_t kind = 0;

	fields_read(item, fields, COUNT(fields), &reading);
	*flow = reading.flow;
	while (kind < COUNT(kinds) && strcmp(reading.kind, kinds[kind]))
		kind++;
	if (kind == COUNT(kinds))
		fields_refuse(item,
			      "kind '%s' is unknown; known here: tcp, udp, web, program, requests",
			      reading.kind);
	flow->kind = (enum flow_kind)kind;
	if (reading.tool && strcmp(reading.tool, "iperf3"))
		fields_refuse(item, "tool '%s' is unknown; known here: iperf3", reading.tool);
	if (reading.tool && (flow->kind != FLOW_TCP || !flow->client_port || !flow->block_bytes))
		fields_refuse(item, "an iperf3 flow is tcp, with client_port and block_bytes");
	if (reading.tool)
		flow->kind = FLOW_IPERF3;
	flow->from = plan_find_node(plan, reading.from);
	flow->to = plan_find_node(plan, reading.to);
	if (reading.options)
		fields_read(reading.options, option_fields, COUNT(option_fields), flow);
	if (reading.options && json_member(reading.options, "sockopts"))
		read_sockopts(flow, json_member(reading.options, "sockopts"));
	if (reading.program)
		flow->program = read_programs(reading.program);
	if (reading.group)
		fields_read(reading.group, group_fields, COUNT(group_fields), flow);
	if (flow->group && flow->kind == FLOW_TCP && (flow->bytes == NEVER || !flow->block_bytes))
		fields_refuse(item, "the tcp flows of a group have bytes and block_bytes");
	if (reading.requests)
		flow->requests = read_requests(reading.requests);
	if (flow->kind == FLOW_UDP && flow->requests && flow->requests->timeout_us)
		flow->kind = FLOW_PINGS;
	if ((flow->kind == FLOW_REQUESTS || flow->kind == FLOW_PINGS) != (flow->requests != NULL))
		fields_refuse(item, "'requests' are of the kind requests, or udp with a timeout");
	if (reading.on_off)
		fields_read(reading.on_off, on_off_fields, COUNT(on_off_fields), flow);
	if (flow->dscp > 63)
		fields_refuse(item, "a dscp has six bits");
	if (flow->id != item->index || flow->id > 0x7fff)
		fields_refuse(item, "id must be the flow's place in the list, below 32768");
	if (flow->kind != FLOW_UDP && flow->kind != FLOW_PINGS && !flow->cc)
		fields_refuse(item, "'cc' is missing");
	if (flow->kind == FLOW_UDP && (!flow->rate_bps || flow->payload_bytes - 1 >= 65507))
		fields_refuse(item, "a udp flow needs rate_bps and 1 to 65507 payload_bytes");
	if (flow->kind == FLOW_WEB && (!flow->mean_bytes || flow->shape_milli <= 1000))
		fields_refuse(item, "a web flow needs mean_bytes and a shape_milli above 1000");
}

/* Which of two words a field has; the first one where it is left out. */
static bool is_second(const struct json *root, const char *key, const char *text, const char *first,
		      const char *second)
{
	if (!text || !strcmp(text, first))
		return false;
	if (strcmp(text, second))
		fields_refuse(json_member(root, key), "'%s' is neither %s nor %s", text, first,
			      second);
	return true;
}

void plan_read(const char *path, struct plan *plan)
{
	struct reading {
		uint64_t format, duration_us, seed;
		const char *where, *clock;
		const struct json *sysctls, *nodes, *wires, *neighbours, *routes, *links, *modules,
			*flows, *schedule, *trace, *hosts, *part, *knobs, *recordings, *policers;
	} reading;
	static const struct field fields[] = {
		NEED("format", struct reading, format, FIELD_U64),
		NEED("duration_us", struct reading, duration_us, FIELD_U64),
		MAYBE("where", struct reading, where, FIELD_TEXT, 0),
		MAYBE("clock", struct reading, clock, FIELD_TEXT, 0),
		MAYBE("sysctls", struct reading, sysctls, FIELD_VALUE, 0),
		NEED("nodes", struct reading, nodes, FIELD_VALUE),
		NEED("wires", struct reading, wires, FIELD_VALUE),
		NEED("neighbours", struct reading, neighbours, FIELD_VALUE),
		NEED("routes", struct reading, routes, FIELD_VALUE),
		NEED("links", struct reading, links, FIELD_VALUE),
		NEED("modules", struct reading, modules, FIELD_VALUE),
		NEED("flows", struct reading, flows, FIELD_VALUE),
		NEED("schedule", struct reading, schedule, FIELD_VALUE),
		NEED("trace", struct reading, trace, FIELD_VALUE),
		MAYBE("hosts", struct reading, hosts, FIELD_VALUE, 0),
		MAYBE("part", struct reading, part, FIELD_VALUE, 0),
		MAYBE("knobs", struct reading, knobs, FIELD_VALUE, 0),
		MAYBE("recordings", struct reading, recordings, FIELD_VALUE, 0),
		MAYBE("policers", struct reading, policers, FIELD_VALUE, 0),
		IGNORE("asked_at"),
		IGNORE("experiment"),
		IGNORE("backend"),
		IGNORE("parts"),
		IGNORE("kernel"),
		MAYBE("seed", struct reading, seed, FIELD_U64, 0),
		IGNORE("point"),
		IGNORE("window_us"),
		IGNORE("phases"),
		IGNORE("memory_mb"),
		IGNORE("expect"),
		IGNORE("meaning"),
	};
	static const struct field trace_fields[] = {
		NEED("ack_us", struct plan, trace_ack_us, FIELD_U32),
		NEED("tick_us", struct plan, trace_tick_us, FIELD_U32),
		MAYBE("departures", struct plan, trace_departures, FIELD_BOOL, false),
		MAYBE("decisions", struct plan, trace_decisions, FIELD_BOOL, false),
	};
	const struct json *root = json_read_file(path, "reading the plan");

	fields_read(root, fields, COUNT(fields), &reading);
	if (reading.format != 1)
		fields_refuse(json_member(root, "format"),
			      "%llu is not 1, the format this agent reads",
			      (unsigned long long)reading.format);
	plan->duration_us = reading.duration_us;
	plan->seed = reading.seed;
	if (!plan->duration_us)
		fields_refuse(json_member(root, "duration_us"), "nothing happens in no time");
	/* On real hosts every setting of the machine is left as it is, too. */
	plan->on_host = reading.hosts || is_second(root, "where", reading.where, "guest", "host");
	plan->real_clock = is_second(root, "clock", reading.clock, "virtual", "real");
	if (reading.part)
		read_part(plan, reading.part);
	if (reading.sysctls)
		plan->sysctls = read_pairs(reading.sysctls, &plan->sysctl_count);
	if (reading.knobs)
		plan->knobs = read_pairs(reading.knobs, &plan->knob_count);
	read_nodes(plan, reading.nodes);
	if (reading.hosts)
		plan_read_hosts(plan, reading.hosts);
	read_wires(plan, reading.wires);
	read_neighbours(plan, reading.neighbours);
	read_routes(plan, reading.routes);
	read_links(plan, reading.links);
	read_modules(plan, reading.modules);
	if (reading.recordings)
		read_recordings(plan, reading.recordings);
	if (reading.policers)
		read_policers(plan, reading.policers);
	plan->flow_count = fields_expect(reading.flows, JSON_LIST)->count;
	plan->flows = need_memory(plan->flow_count, sizeof(*plan->flows));
	for (EACH(item, reading.flows))
		read_flow(plan, item, &plan->flows[item->index]);
	plan_read_schedule(plan, reading.schedule);
	fields_read(reading.trace, trace_fields, COUNT(trace_fields), plan);
}
