/*
 * A node of the kind `bridge` is one Linux bridge over all its devices. It learns nothing and floods
 * nothing: which host is behind which device is told beforehand, from the wires.
 *
 *     [s1] s1-r === r-s1 \
 *                         br [node r] --- r-d === d-r [d]
 *     [s2] s2-r === r-s2 /
 *
 * Frames pass without a look at IP, so no packet is copied for a change of its header.
 */
#include "bridge.h"

#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <string.h>

#include "die.h"
#include "links.h"
#include "netlink.h"

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

static void teach(const struct end *end, const struct end *host)
{
	struct ndmsg body = {.ndm_family = AF_BRIDGE,
			     .ndm_ifindex = (int)end->index,
			     .ndm_state = NUD_NOARP,
			     .ndm_flags = NTF_MASTER};
	struct request request;

	request_begin(&request, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	request_add(&request, NDA_LLADDR, &host->mac, sizeof(host->mac));
	ask_node(end->node, &request, "teaching the bridge behind", end->dev);
}

struct search {
	const struct end *end, *host;
	bool found;
};

static void visit_entry(const struct nlmsghdr *message, void *context)
{
	const struct ndmsg *body = NLMSG_DATA(message);
	struct search *search = context;
	struct attributes attributes;
	struct ether_addr mac;

	attributes_of(&attributes, message, sizeof(*body));
	attribute_copy(attributes.table[NDA_LLADDR], &mac, sizeof(mac));
	if (body->ndm_ifindex == (int)search->end->index &&
	    !memcmp(&mac, &search->host->mac, sizeof(mac)))
		search->found = true;
}

static void check(const struct end *end, const struct end *host)
{
	struct ndmsg body = {.ndm_family = AF_BRIDGE};
	struct search search = {.end = end, .host = host};
	struct request request;

	request_begin(&request, RTM_GETNEIGH, 0, &body, sizeof(body));
	netlink_dump(end->node->rtnl_fd, &request, visit_entry, &search);
	if (!search.found)
		refuse_reading(end, "host behind it", host->dev, "missing");
}

void bridges_create(struct plan *plan)
{
	for (size_t i = 0; i < plan->node_count; i++) {
		struct node *node = &plan->nodes[i];

		if (!node->bridge)
			continue;
		make_device(node);
		enter_node(node);
		node->bridge_index = if_nametoindex(DEVICE);
		leave_node();
	}
	for (size_t i = 0; i < 2 * plan->wire_count; i++) {
		const struct end *end = &plan->wires[i / 2].ends[i % 2];
		const struct end *host = &plan->wires[i / 2].ends[!(i % 2)];

		if (!end->node->bridge)
			continue;
		join(end, end->node->bridge_index);
		settle(end);
		teach(end, host);
		check(end, host);
	}
}
