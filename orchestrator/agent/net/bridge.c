/*
 * A node of the kind `bridge` is one Linux bridge over all its devices. It learns nothing and floods
 * nothing: the plan has the hosts behind each device, and they are entered beforehand.
 *
 *     [a1] a1-s1 === s1-a1 \
 *                           br [node s1] --- s1-b1 === b1-s1 [b1]
 *     [a2] a2-s1 === s1-a2 /
 *
 * Frames pass without a look at IP, so no packet is copied for a change of its header.
 */
#include "net/bridge.h"

#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "net/netlink.h"
#include "net/nodes.h"
#include "net/readback.h"
#include "system/fatal.h"

#define DEVICE "br"

static void make_device(const struct node *node)
{
	struct ifinfomsg body = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct request request;
	size_t info, data;

	request_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	request_add_text(&request, IFLA_IFNAME, DEVICE);
	info = request_nest(&request, IFLA_LINKINFO);
	request_add_text(&request, IFLA_INFO_KIND, "bridge");
	data = request_nest(&request, IFLA_INFO_DATA);
	request_add_u32(&request, IFLA_BR_STP_STATE, 0);
	request_unnest(&request, data);
	request_unnest(&request, info);
	ask_node(node, &request, "making the bridge", DEVICE);
}

static void join(const struct end *end, unsigned int bridge)
{
	struct ifinfomsg body = {.ifi_index = (int)end->index};
	struct request request;

	request_begin(&request, RTM_NEWLINK, 0, &body, sizeof(body));
	request_add_u32(&request, IFLA_MASTER, bridge);
	ask_node(end->node, &request, "joining a bridge with", end->dev);
}

static void settle(const struct end *end)
{
	struct ifinfomsg body = {.ifi_family = AF_BRIDGE, .ifi_index = (int)end->index};
	struct request request;
	size_t port;

	request_begin(&request, RTM_SETLINK, 0, &body, sizeof(body));
	port = request_nest(&request, IFLA_PROTINFO | NLA_F_NESTED);
	request_add_u8(&request, IFLA_BRPORT_LEARNING, 0);
	request_add_u8(&request, IFLA_BRPORT_UNICAST_FLOOD, 0);
	request_add_u8(&request, IFLA_BRPORT_MCAST_FLOOD, 0);
	request_add_u8(&request, IFLA_BRPORT_BCAST_FLOOD, 0);
	request_unnest(&request, port);
	ask_node(end->node, &request, "settling the bridge's port", end->dev);
}

static void teach(const struct end *end, const struct ether_addr *host)
{
	struct ndmsg body = {.ndm_family = AF_BRIDGE,
			     .ndm_ifindex = (int)end->index,
			     .ndm_state = NUD_NOARP,
			     .ndm_flags = NTF_MASTER};
	struct request request;

	request_begin(&request, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	request_add(&request, NDA_LLADDR, host, sizeof(*host));
	ask_node(end->node, &request, "teaching the bridge behind", end->dev);
}

struct search {
	const struct plan *plan;
	const struct node *node;
	size_t *found; /* hosts behind each end, by its place */
};

static void visit_entry(const struct nlmsghdr *message, void *context)
{
	const struct ndmsg *body = NLMSG_DATA(message);
	const struct search *search = context;
	struct attributes attributes;
	struct ether_addr mac;

	attributes_of(&attributes, message, sizeof(*body));
	attribute_copy(attributes.table[NDA_LLADDR], &mac, sizeof(mac));
	for (size_t i = 0; i < 2 * search->plan->wire_count; i++) {
		const struct end *end = &search->plan->wires[i / 2].ends[i % 2];

		if (end->node != search->node || body->ndm_ifindex != (int)end->index)
			continue;
		for (size_t j = 0; j < end->behind_count; j++)
			search->found[i] += !memcmp(&mac, &end->behind[j], sizeof(mac));
	}
}

static void check(const struct plan *plan)
{
	size_t *found = need_memory(2 * plan->wire_count, sizeof(*found));

	for (size_t i = 0; i < plan->node_count; i++) {
		struct search search = {plan, &plan->nodes[i], found};
		struct ndmsg body = {.ndm_family = AF_BRIDGE};

		if (!search.node->bridge || search.node->elsewhere)
			continue;
		netlink_list(search.node->rtnl_fd, RTM_GETNEIGH, &body, sizeof(body), visit_entry,
			     &search);
	}
	for (size_t i = 0; i < 2 * plan->wire_count; i++) {
		const struct end *end = &plan->wires[i / 2].ends[i % 2];

		if (end->node->bridge && !end->node->elsewhere)
			compare_number(end, "hosts behind it", end->behind_count, found[i]);
	}
	free(found);
}

void bridges_create(struct plan *plan)
{
	for (size_t i = 0; i < plan->node_count; i++) {
		struct node *node = &plan->nodes[i];

		if (!node->bridge || node->elsewhere)
			continue;
		make_device(node);
		enter_node(node);
		node->bridge_index = if_nametoindex(DEVICE);
		leave_node();
	}
	for (size_t i = 0; i < 2 * plan->wire_count; i++) {
		const struct end *end = &plan->wires[i / 2].ends[i % 2];

		if (!end->node->bridge || end->node->elsewhere)
			continue;
		join(end, end->node->bridge_index);
		settle(end);
		for (size_t j = 0; j < end->behind_count; j++)
			teach(end, &end->behind[j]);
	}
	check(plan);
}
