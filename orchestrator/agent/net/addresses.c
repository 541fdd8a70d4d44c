/* Addresses of devices, neighbours added beforehand, and routes with their metrics of a window. */
#include "net/addresses.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/netlink.h"
#include "net/nodes.h"
#include "net/readback.h"
#include "system/fatal.h"

void address_add(const struct end *end)
{
	struct ifaddrmsg body = {
		.ifa_family = AF_INET, .ifa_prefixlen = end->prefix, .ifa_index = end->index};
	struct request request;

	if (!end->prefix)
		return;
	request_begin(&request, RTM_NEWADDR,
		      NLM_F_CREATE | (end->node->process ? NLM_F_REPLACE : NLM_F_EXCL), &body,
		      sizeof(body));
	request_add(&request, IFA_LOCAL, &end->address, sizeof(end->address));
	request_add(&request, IFA_ADDRESS, &end->address, sizeof(end->address));
	ask_node(end->node, &request, "adding an address to", end->dev);
}

struct address_count {
	unsigned int all, right;
};

struct address_search {
	const struct plan *plan;
	const struct node *node;
	struct address_count *counts; /* of each end of each wire */
};

static void visit_address(const struct nlmsghdr *message, void *context)
{
	const struct ifaddrmsg *body = NLMSG_DATA(message);
	const struct address_search *search = context;
	struct attributes attributes;

	attributes_of(&attributes, message, sizeof(*body));
	for (size_t i = 0; i < 2 * search->plan->wire_count; i++) {
		const struct end *end = &search->plan->wires[i / 2].ends[i % 2];

		if (end->node != search->node || body->ifa_index != end->index)
			continue;
		search->counts[i].all++;
		search->counts[i].right +=
			body->ifa_prefixlen == end->prefix &&
			attribute_u32(attributes.table[IFA_LOCAL]) == end->address.s_addr;
	}
}

void addresses_check(const struct plan *plan)
{
	struct address_count *counts = need_memory(2 * plan->wire_count, sizeof(*counts));

	for (size_t i = 0; i < plan->node_count && plan->wire_count; i++) {
		struct address_search search = {plan, &plan->nodes[i], counts};
		struct ifaddrmsg body = {.ifa_family = AF_INET};

		if (plan->nodes[i].elsewhere)
			continue;
		netlink_list(search.node->rtnl_fd, RTM_GETADDR, &body, sizeof(body), visit_address,
			     &search);
	}
	for (size_t i = 0; i < 2 * plan->wire_count; i++) {
		const struct end *end = &plan->wires[i / 2].ends[i % 2];

		if (end->node->elsewhere)
			continue;
		compare_number(end, "number of addresses", end->prefix ? 1 : 0, counts[i].all);
		if (end->prefix && !counts[i].right)
			refuse_reading(end, "address", "the plan's", "another");
	}
	free(counts);
}

/* No ARP: nothing but the flows' own packets may be on a wire. */
static void add_neighbour(const struct neighbour *neighbour)
{
	const struct end *end = neighbour->end;
	struct ndmsg body = {
		.ndm_family = AF_INET, .ndm_ifindex = (int)end->index, .ndm_state = NUD_PERMANENT};
	struct request request;

	request_begin(&request, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &body, sizeof(body));
	request_add(&request, NDA_DST, &neighbour->address, sizeof(neighbour->address));
	request_add(&request, NDA_LLADDR, &neighbour->mac, sizeof(neighbour->mac));
	ask_node(end->node, &request, "adding a neighbour to", end->dev);
}

static void add_route(const struct route *route)
{
	struct rtmsg body = {.rtm_family = AF_INET,
			     .rtm_dst_len = route->prefix,
			     .rtm_table = RT_TABLE_MAIN,
			     .rtm_protocol = RTPROT_STATIC,
			     .rtm_scope = RT_SCOPE_UNIVERSE,
			     .rtm_type = RTN_UNICAST};
	char name[INET_ADDRSTRLEN + 16];
	const uint8_t *byte = (const uint8_t *)&route->to;
	struct request request;
	size_t metrics;

	request_begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	if (route->prefix)
		request_add(&request, RTA_DST, &route->to, sizeof(route->to));
	request_add(&request, RTA_GATEWAY, &route->via, sizeof(route->via));
	metrics = request_nest(&request, RTA_METRICS);
	if (route->initcwnd)
		request_add_u32(&request, RTAX_INITCWND, route->initcwnd);
	/* TCP takes a route's window for its clamp only where the route insists on it. */
	if (route->cwnd_clamp) {
		request_add_u32(&request, RTAX_LOCK, 1u << RTAX_CWND);
		request_add_u32(&request, RTAX_CWND, route->cwnd_clamp);
	}
	if (route->quickack)
		request_add_u32(&request, RTAX_QUICKACK, 1);
	request_unnest(&request, metrics);
	snprintf(name, sizeof(name), "route to %u.%u.%u.%u/%u", byte[0], byte[1], byte[2], byte[3],
		 route->prefix);
	ask_node(route->node, &request, "adding the", name);
}

struct route_search {
	const struct route *route;
	bool found;
	struct attributes metrics;
	_Alignas(struct rtattr) char metric_bytes[512];
};

static void visit_route(const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *body = NLMSG_DATA(message);
	struct route_search *search = context;
	struct attributes attributes;
	const struct rtattr *metrics;

	attributes_of(&attributes, message, sizeof(*body));
	if (body->rtm_table != RT_TABLE_MAIN || body->rtm_dst_len != search->route->prefix ||
	    attribute_u32(attributes.table[RTA_DST]) != search->route->to.s_addr ||
	    attribute_u32(attributes.table[RTA_GATEWAY]) != search->route->via.s_addr)
		return;
	search->found = true;
	metrics = attributes.table[RTA_METRICS];
	if (!metrics || RTA_PAYLOAD(metrics) > sizeof(search->metric_bytes))
		return;
	memcpy(search->metric_bytes, RTA_DATA(metrics), RTA_PAYLOAD(metrics));
	attributes_parse(&search->metrics, search->metric_bytes, RTA_PAYLOAD(metrics));
}

static void check_metric(const struct route_search *search, int metric, const char *name,
			 uint32_t asked)
{
	uint32_t found = attribute_u32(search->metrics.table[metric]);

	if (found != asked)
		die("reading back routes of node", search->route->node->name, "",
		    "%s was asked to be %u and reads %u", name, asked, found);
}

static void check_route(const struct route *route)
{
	struct rtmsg body = {.rtm_family = AF_INET};
	struct route_search search = {.route = route};

	netlink_list(route->node->rtnl_fd, RTM_GETROUTE, &body, sizeof(body), visit_route, &search);
	if (!search.found)
		die("reading back routes of node", route->node->name, "",
		    "one asked for is not there");
	check_metric(&search, RTAX_INITCWND, "initcwnd", route->initcwnd);
	check_metric(&search, RTAX_CWND, "the clamp of cwnd", route->cwnd_clamp);
	check_metric(&search, RTAX_QUICKACK, "quickack", route->quickack);
}

void routes_create(const struct plan *plan)
{
	for (size_t i = 0; i < plan->neighbour_count; i++)
		add_neighbour(&plan->neighbours[i]);
	for (size_t i = 0; i < plan->route_count; i++)
		add_route(&plan->routes[i]);
	for (size_t i = 0; i < plan->route_count; i++)
		check_route(&plan->routes[i]);
}
