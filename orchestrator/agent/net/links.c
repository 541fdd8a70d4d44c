/*
 * Builds the wires with rtnetlink, or completes those that are there, and reads them back. A wire is a veth
 * pair made in one request, its two ends being born in their namespaces:
 *
 *     [node s1] s1-r ====== r-s1 [node r] r-d ====== d-r [node d]
 */
#include "net/links.h"

#include <errno.h>
#include <linux/if_link.h>
#include <lh_wire.h>
#include <linux/veth.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "net/addresses.h"
#include "net/bridge.h"
#include "net/netlink.h"
#include "net/nodes.h"
#include "net/offloads.h"
#include "net/readback.h"
#include "system/fatal.h"

#define OPERSTATE_UP	 6 /* IF_OPER_UP of linux/if.h, which net/if.h excludes */
#define GSO_MAX_SEGMENTS 1 /* a packet is a packet: loss and queue limits count real ones */

static const char *mark; /* NULL: devices need no alias that names their owner */

void links_mark(const char *text)
{
	mark = text;
}

/* What any device takes at any time. */
static void settle_end(struct request *request, const struct end *end)
{
	request_add(request, IFLA_ADDRESS, &end->mac, sizeof(end->mac));
	request_add_u32(request, IFLA_MTU, end->mtu);
	request_add_u32(request, IFLA_GSO_MAX_SEGS, GSO_MAX_SEGMENTS);
}

static void describe_end(struct request *request, const struct end *end)
{
	request_add_text(request, IFLA_IFNAME, end->dev);
	request_add_u32(request, IFLA_NUM_TX_QUEUES, 1);
	request_add_u32(request, IFLA_NUM_RX_QUEUES, 1);
	settle_end(request, end);
}

static void complete_end(const struct end *end)
{
	struct ifinfomsg body = {.ifi_index = (int)end->index};
	struct request request;

	request_begin(&request, RTM_NEWLINK, 0, &body, sizeof(body));
	settle_end(&request, end);
	if (mark)
		request_add_text(&request, IFLA_IFALIAS, mark);
	ask_node(end->node, &request, "completing", end->dev);
}

static void make_wire(const struct wire *wire)
{
	const struct end *near = &wire->ends[0], *far = &wire->ends[1];
	struct ifinfomsg body = {0};
	struct request request;
	size_t info, data, peer;

	request_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	describe_end(&request, near);
	info = request_nest(&request, IFLA_LINKINFO);
	request_add_text(&request, IFLA_INFO_KIND, "veth");
	data = request_nest(&request, IFLA_INFO_DATA);
	peer = request_nest(&request, VETH_INFO_PEER);
	request_add_bytes(&request, &body, sizeof(body));
	describe_end(&request, far);
	request_add_u32(&request, IFLA_NET_NS_FD, (uint32_t)far->node->namespace_fd);
	request_unnest(&request, peer);
	request_unnest(&request, data);
	request_unnest(&request, info);
	ask_node(near->node, &request, "making the wire", near->dev);
}

/* The end that is here; the other part makes its own. */
static void make_crossing(const struct wire *wire, const struct end *end)
{
	struct ifinfomsg body = {0};
	struct request request;
	size_t info, data;

	request_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	describe_end(&request, end);
	info = request_nest(&request, IFLA_LINKINFO);
	request_add_text(&request, IFLA_INFO_KIND, LH_WIRE_KIND);
	data = request_nest(&request, IFLA_INFO_DATA);
	request_add_u32(&request, LH_WIRE_PEER, wire->peer);
	request_add_u32(&request, LH_WIRE_PLACE, wire->place);
	request_add_u64(&request, LH_WIRE_DELAY_NS, wire->delay_ns);
	if (wire->ahead_ns)
		request_add_u64(&request, LH_WIRE_AHEAD_NS, wire->ahead_ns);
	request_unnest(&request, data);
	request_unnest(&request, info);
	ask_node(end->node, &request, "making the wire", end->dev);
}

static void find_index(struct end *end)
{
	struct ifreq ifreq = {0};

	memcpy(ifreq.ifr_name, end->dev, strlen(end->dev));
	if (ioctl_node(end->node, SIOCGIFINDEX, &ifreq))
		refuse_reading(end, "device", "there", strerror(errno));
	end->index = (unsigned int)ifreq.ifr_ifindex;
}

struct device_visit {
	const struct plan *plan;
	const struct node *node;
	struct device_counters *counters; /* NULL: compare with the plan */
};

static void check_device(const struct end *end, const struct ifinfomsg *body,
			 const struct attributes *attributes)
{
	struct ether_addr mac;

	attribute_copy(attributes->table[IFLA_ADDRESS], &mac, sizeof(mac));
	compare_number(end, "MTU", end->mtu, attribute_u32(attributes->table[IFLA_MTU]));
	compare_number(end, "gso_max_segs", GSO_MAX_SEGMENTS,
		       attribute_u32(attributes->table[IFLA_GSO_MAX_SEGS]));
	compare_number(end, "up and running", IFF_UP | IFF_RUNNING,
		       body->ifi_flags & (IFF_UP | IFF_RUNNING));
	compare_number(end, "bridge", end->node->bridge_index,
		       attribute_u32(attributes->table[IFLA_MASTER]));
	if (memcmp(&mac, &end->mac, sizeof(mac)))
		refuse_reading(end, "MAC address", "the plan's", "another");
}

static void visit_device(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *body = NLMSG_DATA(message);
	const struct device_visit *visit = context;
	struct rtnl_link_stats64 stats;
	struct attributes attributes;

	attributes_of(&attributes, message, sizeof(*body));
	for (size_t i = 0; i < 2 * visit->plan->wire_count; i++) {
		const struct end *end = &visit->plan->wires[i / 2].ends[i % 2];

		if (end->node != visit->node || (int)end->index != body->ifi_index)
			continue;
		if (!visit->counters) {
			check_device(end, body, &attributes);
			continue;
		}
		attribute_copy(attributes.table[IFLA_STATS64], &stats, sizeof(stats));
		visit->counters[i] = (struct device_counters){
			.rx_packets = stats.rx_packets,
			.rx_bytes = stats.rx_bytes,
			.rx_dropped = stats.rx_dropped,
			.tx_packets = stats.tx_packets,
			.tx_bytes = stats.tx_bytes,
			.tx_dropped = stats.tx_dropped,
		};
	}
}

static void visit_devices(const struct plan *plan, struct device_counters *counters)
{
	for (size_t i = 0; i < plan->node_count && plan->wire_count; i++) {
		struct device_visit visit = {plan, &plan->nodes[i], counters};
		struct ifinfomsg body = {0};

		if (plan->nodes[i].elsewhere)
			continue;
		netlink_list(visit.node->rtnl_fd, RTM_GETLINK, &body, sizeof(body), visit_device,
			     &visit);
	}
}

struct mtu_reading {
	unsigned int index;
	uint32_t mtu; /* 0: no such device */
};

static void visit_mtu(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *body = NLMSG_DATA(message);
	struct mtu_reading *reading = context;
	struct attributes attributes;

	attributes_of(&attributes, message, sizeof(*body));
	if ((int)reading->index == body->ifi_index)
		reading->mtu = attribute_u32(attributes.table[IFLA_MTU]);
}

void link_set_mtu(struct end *end, uint32_t mtu)
{
	struct ifinfomsg one = {.ifi_index = (int)end->index}, every = {0};
	struct mtu_reading reading = {.index = end->index};
	struct request request;

	request_begin(&request, RTM_NEWLINK, 0, &one, sizeof(one));
	request_add_u32(&request, IFLA_MTU, mtu);
	ask_node(end->node, &request, "changing the MTU of", end->dev);
	netlink_list(end->node->rtnl_fd, RTM_GETLINK, &every, sizeof(every), visit_mtu, &reading);
	compare_number(end, "MTU", mtu, reading.mtu);
	end->mtu = mtu;
}

static void visit_state(const struct nlmsghdr *message, void *context)
{
	size_t *waiting = context;
	struct attributes attributes;
	uint8_t state;

	attributes_of(&attributes, message, sizeof(struct ifinfomsg));
	attribute_copy(attributes.table[IFLA_OPERSTATE], &state, sizeof(state));
	/* Loopback and bridges have no carrier to wait for. */
	if (attributes.table[IFLA_LINK] && state != OPERSTATE_UP)
		*waiting += 1;
}

static size_t devices_waiting(const struct plan *plan)
{
	size_t waiting = 0;

	for (size_t i = 0; i < plan->node_count; i++) {
		struct ifinfomsg body = {0};

		if (plan->nodes[i].elsewhere)
			continue;
		netlink_list(plan->nodes[i].rtnl_fd, RTM_GETLINK, &body, sizeof(body), visit_state,
			     &waiting);
	}
	return waiting;
}

/* The kernel notes new carriers of a hundred devices a second; until then a device drops the packets it is given. */
static void wait_for_carriers(const struct plan *plan)
{
	size_t waiting;

	for (size_t second = 0; (waiting = devices_waiting(plan)); second++) {
		if (second > plan->wire_count)
			die("bringing up wires", "", "", "%zu devices still have no carrier",
			    waiting);
		sleep(1);
	}
}

void links_count(const struct plan *plan, struct device_counters *counters)
{
	visit_devices(plan, counters);
}

void links_create(struct plan *plan)
{
	for (size_t i = 0; i < plan->wire_count; i++) {
		struct wire *wire = &plan->wires[i];

		for (int side = 0; side < 2 && wire->crosses; side++)
			if (!wire->ends[side].node->elsewhere)
				make_crossing(wire, &wire->ends[side]);
		if (!wire->crosses && !wire->ends[0].node->process &&
		    !wire->ends[0].node->elsewhere)
			make_wire(wire);
		for (int side = 0; side < 2; side++)
			if (!wire->ends[side].node->elsewhere)
				find_index(&wire->ends[side]);
		for (int side = 0; side < 2; side++) {
			struct end *end = &wire->ends[side];

			if (end->node->elsewhere)
				continue;
			if (end->node->process)
				complete_end(end);
			device_up(end->node, end->dev, end->index);
			address_add(end);
			offloads_set(end);
		}
	}
	addresses_check(plan);
	bridges_create(plan);
	routes_create(plan);
	wait_for_carriers(plan);
	visit_devices(plan, NULL);
}
