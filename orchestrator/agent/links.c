/*
 * Builds the graph with rtnetlink, or completes one that is there, and reads it back. A wire is a veth
 * pair made in one request, its two ends being born in their namespaces:
 *
 *     [node s1] s1-r ====== r-s1 [node r] r-d ====== d-r [node d]
 */
#include "links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bridge.h"
#include "die.h"
#include "netlink.h"
#include "offloads.h"

#define RUNNING_TRIES	 300
#define RUNNING_PAUSE_NS 10000000
#define GSO_MAX_SEGMENTS 1 /* a packet is a packet: loss and queue limits count real ones */

static int birth_namespace = -1;
static const char *mark; /* NULL: devices need no word that says whose they are */

void links_mark(const char *text)
{
	mark = text;
}

_Noreturn void refuse_reading(const struct end *end, const char *option, const char *asked,
			      const char *read)
{
	char subject[128];

	snprintf(subject, sizeof(subject), "%s of node %s", end->dev, end->node->name);
	die("reading back", subject, "the guest kernel does not do what the plan needs",
	    "%s was asked to be %s and reads %s", option, asked, read);
}

void compare_number(const struct end *end, const char *option, uint64_t asked, uint64_t read)
{
	char asked_text[24], read_text[24];

	if (asked == read)
		return;
	snprintf(asked_text, sizeof(asked_text), "%llu", (unsigned long long)asked);
	snprintf(read_text, sizeof(read_text), "%llu", (unsigned long long)read);
	refuse_reading(end, option, asked_text, read_text);
}

void ask_node(const struct node *node, struct request *request, const char *attempting,
	      const char *thing)
{
	char why[256], subject[128];

	if (!netlink_ask(node->rtnl_fd, request, why, sizeof(why)))
		return;
	snprintf(subject, sizeof(subject), "%s of node %s", thing, node->name);
	die(attempting, subject, "", "%s", why);
}

void enter_node(const struct node *node)
{
	if (setns(node->namespace_fd, CLONE_NEWNET))
		die("entering node", node->name, "", "%s", strerror(errno));
}

void leave_node(void)
{
	if (setns(birth_namespace, CLONE_NEWNET))
		die("leaving a node", "", "", "%s", strerror(errno));
}

static int open_here(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("opening", path, "the guest kernel needs procfs and network namespaces", "%s",
		    strerror(errno));
	return fd;
}

static void set_up(const struct node *node, const char *dev, unsigned int index)
{
	struct ifinfomsg body = {
		.ifi_index = (int)index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct request request;

	request_begin(&request, RTM_NEWLINK, 0, &body, sizeof(body));
	ask_node(node, &request, "bringing up", dev);
}

static void enter_first(const struct node *node)
{
	char path[32];
	int fd;

	if (!node->process) {
		if (unshare(CLONE_NEWNET))
			die("making node", node->name, "the guest kernel needs CONFIG_NET_NS", "%s",
			    strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/net", node->process);
	fd = open_here(path);
	if (setns(fd, CLONE_NEWNET))
		die("entering the namespace of node", node->name, "", "%s", strerror(errno));
	close(fd);
}

void nodes_create(struct plan *plan)
{
	birth_namespace = open_here("/proc/self/ns/net");
	for (size_t i = 0; i < plan->node_count; i++) {
		struct node *node = &plan->nodes[i];

		enter_first(node);
		node->namespace_fd = open_here("/proc/self/ns/net");
		node->snmp_fd = open_here("/proc/self/net/snmp");
		node->rtnl_fd = netlink_open(NETLINK_ROUTE);
		node->inet_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (node->inet_fd < 0)
			die("making node", node->name, "the guest kernel needs CONFIG_INET", "%s",
			    strerror(errno));
		set_up(node, "lo", 1);
	}
	leave_node();
}

/* What any device can be told at any time. */
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

static void find_index(struct end *end)
{
	struct ifreq ifreq = {0};

	memcpy(ifreq.ifr_name, end->dev, strlen(end->dev));
	if (ioctl_device(end->node->inet_fd, SIOCGIFINDEX, &ifreq))
		refuse_reading(end, "device", "there", strerror(errno));
	end->index = (unsigned int)ifreq.ifr_ifindex;
}

static void add_address(const struct end *end)
{
	struct ifaddrmsg body = {
		.ifa_family = AF_INET, .ifa_prefixlen = end->prefix, .ifa_index = end->index};
	struct request request;

	request_begin(&request, RTM_NEWADDR,
		      NLM_F_CREATE | (end->node->process ? NLM_F_REPLACE : NLM_F_EXCL), &body,
		      sizeof(body));
	request_add(&request, IFA_LOCAL, &end->address, sizeof(end->address));
	request_add(&request, IFA_ADDRESS, &end->address, sizeof(end->address));
	ask_node(end->node, &request, "adding an address to", end->dev);
}

struct address_search {
	const struct end *end;
	unsigned int count;
	bool found;
};

static void visit_address(const struct nlmsghdr *message, void *context)
{
	const struct ifaddrmsg *body = NLMSG_DATA(message);
	struct address_search *search = context;
	struct attributes attributes;

	if (body->ifa_index != search->end->index)
		return;
	attributes_of(&attributes, message, sizeof(*body));
	search->count++;
	search->found |= body->ifa_prefixlen == search->end->prefix &&
			 attribute_u32(attributes.table[IFA_LOCAL]) == search->end->address.s_addr;
}

/* Its own address and no other: a second one would be another path. */
static void check_address(const struct end *end)
{
	struct ifaddrmsg body = {.ifa_family = AF_INET};
	struct address_search search = {.end = end};
	struct request request;

	request_begin(&request, RTM_GETADDR, 0, &body, sizeof(body));
	netlink_dump(end->node->rtnl_fd, &request, visit_address, &search);
	compare_number(end, "number of addresses", end->prefix ? 1 : 0, search.count);
	if (end->prefix && !search.found)
		refuse_reading(end, "address", "the plan's", "another");
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
	struct request request;

	request_begin(&request, RTM_GETROUTE, 0, &body, sizeof(body));
	netlink_dump(route->node->rtnl_fd, &request, visit_route, &search);
	if (!search.found)
		die("reading back routes of node", route->node->name, "",
		    "one asked for is not there");
	check_metric(&search, RTAX_INITCWND, "initcwnd", route->initcwnd);
	check_metric(&search, RTAX_CWND, "the clamp of cwnd", route->cwnd_clamp);
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
	for (size_t i = 0; i < plan->node_count; i++) {
		struct device_visit visit = {plan, &plan->nodes[i], counters};
		struct ifinfomsg body = {0};
		struct request request;

		request_begin(&request, RTM_GETLINK, 0, &body, sizeof(body));
		netlink_dump(visit.node->rtnl_fd, &request, visit_device, &visit);
	}
}

/* The kernel notices a wire's other end at once, unless it has just noticed many: then within a second. */
static void wait_until_running(const struct end *end)
{
	const struct timespec pause = {.tv_nsec = RUNNING_PAUSE_NS};
	struct ifreq ifreq = {0};

	memcpy(ifreq.ifr_name, end->dev, strlen(end->dev));
	for (int i = 0; i < RUNNING_TRIES; i++) {
		if (ioctl_device(end->node->inet_fd, SIOCGIFFLAGS, &ifreq) ||
		    ifreq.ifr_flags & IFF_RUNNING)
			return;
		nanosleep(&pause, NULL);
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
	request_begin(&request, RTM_GETLINK, 0, &every, sizeof(every));
	netlink_dump(end->node->rtnl_fd, &request, visit_mtu, &reading);
	compare_number(end, "MTU", mtu, reading.mtu);
	end->mtu = mtu;
}

void links_count(const struct plan *plan, struct device_counters *counters)
{
	visit_devices(plan, counters);
}

void links_create(struct plan *plan)
{
	for (size_t i = 0; i < plan->wire_count; i++) {
		struct wire *wire = &plan->wires[i];

		if (!wire->ends[0].node->process)
			make_wire(wire);
		for (int side = 0; side < 2; side++)
			find_index(&wire->ends[side]);
		for (int side = 0; side < 2; side++) {
			struct end *end = &wire->ends[side];

			if (end->node->process)
				complete_end(end);
			set_up(end->node, end->dev, end->index);
			if (end->prefix)
				add_address(end);
			check_address(end);
			offloads_off(end);
		}
	}
	for (size_t i = 0; i < 2 * plan->wire_count; i++)
		wait_until_running(&plan->wires[i / 2].ends[i % 2]);
	bridges_create(plan);
	for (size_t i = 0; i < plan->neighbour_count; i++)
		add_neighbour(&plan->neighbours[i]);
	for (size_t i = 0; i < plan->route_count; i++)
		add_route(&plan->routes[i]);
	for (size_t i = 0; i < plan->route_count; i++)
		check_route(&plan->routes[i]);
	visit_devices(plan, NULL);
}
