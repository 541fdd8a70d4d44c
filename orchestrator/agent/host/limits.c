/* Each refusal names the part of the plan and the limit that it exceeds. */
#include "host/limits.h"

#include <arpa/inet.h>
#include <string.h>

#include "plan/fields.h"
#include "system/fatal.h"
#include "system/json_file.h"
#include "traffic/governor.h"

#define HOLDING	   "holding the run to " LIMITS_FILE ":"
#define SILENCE_US 30000000
#define WIDEN	   "its operator's policy says otherwise, and `longhaul hosts deploy` brings it here"

static void read_peers(struct limits *limits, const struct json *list)
{
	static const struct field fields[] = {
		NEED("address", struct peer, address, FIELD_IPV4),
		NEED("provisioned", struct peer, provisioned, FIELD_BOOL),
	};

	limits->peer_count = fields_expect(list, JSON_LIST)->count;
	limits->peers = need_memory(limits->peer_count, sizeof(*limits->peers));
	for (EACH(item, list))
		fields_read(item, fields, COUNT(fields), &limits->peers[item->index]);
}

static const char **read_names(const struct json *list, size_t *count)
{
	const char **names;

	*count = fields_expect(list, JSON_LIST)->count;
	names = need_memory(*count, sizeof(*names));
	for (EACH(name, list))
		names[name->index] = fields_expect(name, JSON_TEXT)->text;
	return names;
}

void limits_read(struct limits *limits)
{
	struct reading {
		struct limits limits;
		uint64_t format;
		const struct json *peers, *emulates, *yielding;
	} reading = {0};
	static const struct field fields[] = {
		NEED("format", struct reading, format, FIELD_U64),
		NEED("host", struct reading, limits.host, FIELD_TEXT),
		NEED("address", struct reading, limits.address, FIELD_IPV4),
		NEED("device", struct reading, limits.device, FIELD_TEXT),
		NEED("first_port", struct reading, limits.first_port, FIELD_U16),
		NEED("last_port", struct reading, limits.last_port, FIELD_U16),
		NEED("rate_bps", struct reading, limits.rate_bps, FIELD_U64),
		NEED("run_bytes", struct reading, limits.run_bytes, FIELD_U64),
		NEED("day_bytes", struct reading, limits.day_bytes, FIELD_U64),
		NEED("longest_us", struct reading, limits.longest_us, FIELD_U64),
		{"silence_us", FIELD_U64, offsetof(struct reading, limits.silence_us), NEEDED,
		 SILENCE_US, 0},
		NEED("peers", struct reading, peers, FIELD_VALUE),
		NEED("emulates", struct reading, emulates, FIELD_VALUE),
		NEED("yielding", struct reading, yielding, FIELD_VALUE),
	};
	const struct json *root =
		json_read_file(LIMITS_FILE, "reading what the operator allows on this host in");

	fields_about("reading what the operator allows on this host in " LIMITS_FILE ":", "",
		     "`longhaul hosts deploy` writes it");
	fields_read(root, fields, COUNT(fields), &reading);
	if (reading.format != 1)
		fields_refuse(json_member(root, "format"), "it is not 1");
	*limits = reading.limits;
	read_peers(limits, reading.peers);
	limits->emulates = read_names(reading.emulates, &limits->emulate_count);
	limits->yielding = read_names(reading.yielding, &limits->yielding_count);
	fields_about("reading the plan", "run.json", "see docs/run-directory.md");
}

bool limits_allow_port(const struct limits *limits, uint16_t port)
{
	return port >= limits->first_port && port <= limits->last_port;
}

const struct peer *limits_find_peer(const struct limits *limits, struct in_addr address)
{
	for (size_t i = 0; i < limits->peer_count; i++)
		if (limits->peers[i].address.s_addr == address.s_addr)
			return &limits->peers[i];
	return NULL;
}

static bool yields(const struct limits *limits, const char *cc)
{
	for (size_t i = 0; i < limits->yielding_count; i++)
		if (!strcmp(limits->yielding[i], cc))
			return true;
	return false;
}

static void hold_control(const struct limits *limits, const struct flow *flow, const char *cc,
			 const struct peer *peer)
{
	if (!peer->provisioned && !yields(limits, cc))
		die(HOLDING, flow->name, WIDEN,
		    "%s yields to no other traffic, and the way to %s is not provisioned", cc,
		    inet_ntoa(peer->address));
}

static void hold_sender(const struct limits *limits, const struct plan *plan,
			const struct flow *flow, const struct peer *peer)
{
	if (flow->kind == FLOW_UDP && !peer->provisioned)
		die(HOLDING, flow->name, WIDEN,
		    "UDP yields to no other traffic, and the way to %s is not provisioned",
		    inet_ntoa(peer->address));
	if (flow->cc)
		hold_control(limits, flow, flow->cc, peer);
	if (flow->bytes != NEVER && flow->bytes > limits->run_bytes)
		die(HOLDING, flow->name, WIDEN, "%llu bytes are more than the %llu of a run",
		    (unsigned long long)flow->bytes, (unsigned long long)limits->run_bytes);
	for (size_t i = 0; i < plan->change_count; i++) {
		const struct change *change = &plan->schedule[i];

		if (change->kind == CHANGE_FLOW && change->flow == flow && change->cc)
			hold_control(limits, flow, change->cc, peer);
		if (change->kind == CHANGE_FLOW && change->flow == flow &&
		    change->max_pacing_bps != NEVER &&
		    (!change->max_pacing_bps || !flow->max_pacing_bps))
			die(HOLDING, flow->name,
			    "give it a rate from its start, and never take it away",
			    "its schedule changes whether it has a rate");
	}
}

static void hold_flow(const struct limits *limits, const struct plan *plan, const struct flow *flow,
		      const struct node *node)
{
	const struct node *other = flow->from == node ? flow->to : flow->from;
	const struct peer *peer = limits_find_peer(limits, other->host_address);

	if (flow->kind == FLOW_IPERF3)
		die(HOLDING, flow->name, "use tool: lh-flow", "iperf3 keeps to no limit");
	if (!peer || flow->from == flow->to)
		die(HOLDING, flow->name, WIDEN, "no traffic is allowed with %s",
		    inet_ntoa(other->host_address));
	if (flow->to == node && flow->address.s_addr != limits->address.s_addr)
		die(HOLDING, flow->name, WIDEN, "it is for %s", inet_ntoa(flow->address));
	if (flow->from == node && flow->address.s_addr != other->host_address.s_addr)
		die(HOLDING, flow->name, WIDEN, "it is for %s", inet_ntoa(flow->address));
	if (flow->to == node && !limits_allow_port(limits, flow->port))
		die(HOLDING, flow->name, WIDEN, "port %u is not one of %u to %u", flow->port,
		    limits->first_port, limits->last_port);
	if (flow->from == node)
		hold_sender(limits, plan, flow, peer);
}

/* What a run must not do to a machine that others use too. */
static void hold_machine(const struct plan *plan)
{
	if (plan->wire_count || plan->link_count || plan->route_count || plan->neighbour_count ||
	    !plan->real_clock)
		die(HOLDING, "the plan", "", "it has parts that a real host cannot have");
	for (size_t i = 0; i < plan->module_count; i++) {
		const struct module *module = &plan->modules[i];

		if (strncmp(module->name, "tcp_", 4))
			die(HOLDING, module->name, "", "it is no congestion control's");
		for (size_t j = 0; j < module->param_count; j++)
			if (strpbrk(module->params[j].name, "/ \n") ||
			    strpbrk(module->params[j].value, "\n"))
				die(HOLDING, module->name, "", "'%s' is no parameter",
				    module->params[j].name);
	}
	for (size_t i = 0; i < plan->change_count; i++)
		if (plan->schedule[i].kind != CHANGE_FLOW)
			die(HOLDING, "schedule", "",
			    "it changes something other than a flow of the plan");
}

void limits_hold(const struct limits *limits, const struct plan *plan, const struct node *node)
{
	uint64_t asked_bps = 0;
	bool governed = false;

	hold_machine(plan);
	if (node->host_address.s_addr != limits->address.s_addr || !node->device ||
	    strcmp(node->device, limits->device))
		die(HOLDING, node->name, WIDEN, "its address and device are not the plan's");
	if (plan->duration_us > limits->longest_us)
		die(HOLDING, "duration_us", WIDEN, "%llu s are longer than the %llu s of a run",
		    (unsigned long long)plan->duration_us / 1000000,
		    (unsigned long long)limits->longest_us / 1000000);
	for (size_t i = 0; i < plan->flow_count; i++) {
		const struct flow *flow = &plan->flows[i];

		if (flow->from != node && flow->to != node)
			continue;
		hold_flow(limits, plan, flow, node);
		if (flow->from != node)
			continue;
		asked_bps += governor_asked_bps(plan, flow);
		governed |= !governor_asked_bps(plan, flow);
	}
	if (asked_bps > limits->rate_bps || (governed && asked_bps == limits->rate_bps))
		die(HOLDING, "the rates of its flows", WIDEN,
		    "they ask for %llu bit/s together, %llu are allowed",
		    (unsigned long long)asked_bps, (unsigned long long)limits->rate_bps);
}
