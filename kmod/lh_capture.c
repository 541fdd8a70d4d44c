// SPDX-License-Identifier: GPL-2.0
/*
 * lh_capture: the packets of chosen devices, written from inside the guest kernel to two files of the host (lh_capture.h).
 *
 *	netif_receive_skb     a packet arrives at a device        -> its block; the other end has sent it: of a switch, its block
 *	net_dev_queue         a device is given a packet          -> of a host, its block; of a switch: is it marked already?
 *	kfree_skb             a device loses a packet             -> an event; of a switch, its block before
 *
 * So a host's packet has the time at which the host sends it, and a switch's that at which it leaves the switch. A packet takes no
 * time from one end of a wire to the other, and an lh_link hands it over itself.
 * The module only looks: a run has the same trace with and without it. It takes no virtual time, as the probe does
 * (lh_trace.c), and it is loaded after all other modules, so that they are where they would be without it. It writes a full
 * buffer, and the rest when the guest powers off. User-Mode Linux only: it needs os_write_file().
 */

#include <linux/bitmap.h>
#include <linux/hash.h>
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/reboot.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/inet_ecn.h>
#include <net/ip.h>

#include "hooks.h"
#include "host_file.h"
#include "lh_capture.h"

#define LH_BLOCKS_BYTES (256 * 1024)
#define LH_USUAL_SNAP 96
#define LH_MOST_BITS 22
#define LH_PORTS 65536

static char *at[LH_CAPTURE_DEVICES];
static int nr_at;
module_param_array(at, charp, &nr_at, 0444);
MODULE_PARM_DESC(at, "the devices, by name, in the order of the interfaces of the file");

static unsigned int snap;
module_param(snap, uint, 0444);
MODULE_PARM_DESC(snap, "bytes of a packet that are kept; 0: the headers of TCP and UDP, 96 bytes of other packets");

static char *ports;
module_param(ports, charp, 0444);
MODULE_PARM_DESC(ports, "only packets of TCP and UDP from or to these ports, as in 5001-5004,5010; without it, all packets");

static unsigned long epoch_ns;
module_param(epoch_ns, ulong, 0444);
MODULE_PARM_DESC(epoch_ns, "the instant that is time zero of the file");

static unsigned int hosts[LH_CAPTURE_DEVICES];
static int nr_hosts;
module_param_array(hosts, uint, &nr_hosts, 0444);
MODULE_PARM_DESC(hosts, "the numbers of those devices that hosts have");

static unsigned int held = 65536;
module_param(held, uint, 0444);
MODULE_PARM_DESC(held, "packets that the queues of the devices may hold");

static struct host_file blocks = { .path = "guest/capture.blocks", .content = "packets", .room = LH_BLOCKS_BYTES };
static struct host_file events = { .path = "guest/capture.events", .content = "packets", .room = 4096 };

/*
 * The packets that devices were given last, in the order of their coming: the next one takes the place of the oldest. Their
 * number is larger than that of the packets that can wait, so one that is lost or marked is here; and memory that is used again
 * is that of the newest.
 */
struct waiting {
	const struct sk_buff *skb;
	u64 block;
	u32 next; /* with the same hash; the number of the place and 1 */
	bool marked; /* as it came */
};

static struct waiting *waiting;
static u32 *heads;
static unsigned int bits, newest;

static struct net_device *devices[LH_CAPTURE_DEVICES];
static struct net_device *peers[LH_CAPTURE_DEVICES]; /* the other ends */
static bool is_hosts[LH_CAPTURE_DEVICES];
static unsigned long *wanted; /* ports */
static DEFINE_SPINLOCK(lock); /* all of the above */

/* ---- packets that wait ---- */

static u32 *place_of(const struct sk_buff *skb)
{
	u32 *place = &heads[hash_ptr(skb, bits)];

	while (*place && waiting[*place - 1].skb != skb)
		place = &waiting[*place - 1].next;
	return place;
}

/* The newest packet in this memory; those before it have left. */
static const struct waiting *find_waiting(const struct sk_buff *skb)
{
	u32 place = *place_of(skb);

	return place ? &waiting[place - 1] : NULL;
}

/* The oldest packet of all is the last one with its hash. */
static void remove_oldest(u32 number)
{
	u32 *place = &heads[hash_ptr(waiting[number - 1].skb, bits)];

	while (*place && *place != number)
		place = &waiting[*place - 1].next;
	*place = 0;
}

static void remember(const struct sk_buff *skb, u64 block, bool marked)
{
	struct waiting *packet = &waiting[newest];
	u32 *head = &heads[hash_ptr(skb, bits)];

	if (packet->skb)
		remove_oldest(newest + 1);
	*packet = (struct waiting){ .skb = skb, .block = block, .next = *head, .marked = marked };
	*head = newest + 1;
	newest = (newest + 1) & ((1u << bits) - 1);
}

/* ---- blocks and events ---- */

static int find_device(struct net_device *const *known, const struct net_device *dev)
{
	int i;

	for (i = 0; i < nr_at; i++)
		if (known[i] == dev && dev)
			return i;
	return -1;
}

static int interface_of(const struct net_device *dev)
{
	return find_device(devices, dev);
}

static s64 now_ns(void)
{
	return ktime_get_ns() - epoch_ns;
}

/* A packet to look at; `start` and `network` are the offsets of its first byte and of its network header in its data. */
struct view {
	const struct sk_buff *skb;
	int start, network;
	const struct iphdr *ip; /* NULL if it is not of IPv4 */
	struct iphdr ip_copy;
};

static void look_at(struct view *view, const struct sk_buff *skb, int start, int network)
{
	view->skb = skb;
	view->start = start;
	view->network = network;
	view->ip = skb->protocol != htons(ETH_P_IP) ?
			   NULL :
			   skb_header_pointer(skb, network, sizeof(view->ip_copy), &view->ip_copy);
}

/* The header of TCP, of which UDP's is the beginning; NULL for other packets and later fragments. */
static const struct tcphdr *transport_of(const struct view *view, struct tcphdr *copy)
{
	const struct iphdr *ip = view->ip;
	int bytes;

	if (!ip || (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP) || (ip->frag_off & htons(IP_OFFSET)))
		return NULL;
	bytes = ip->protocol == IPPROTO_TCP ? sizeof(struct tcphdr) : sizeof(struct udphdr);
	return skb_header_pointer(view->skb, view->network + ip->ihl * 4, bytes, copy);
}

static bool is_wanted(const struct tcphdr *transport)
{
	return !wanted ||
	       (transport && (test_bit(ntohs(transport->source), wanted) || test_bit(ntohs(transport->dest), wanted)));
}

static u32 captured_bytes(const struct view *view, const struct tcphdr *transport)
{
	u32 headers;

	if (snap)
		return snap;
	if (!transport)
		return LH_USUAL_SNAP;
	headers = view->ip->protocol == IPPROTO_TCP ? transport->doff * 4 : sizeof(struct udphdr);
	return view->network - view->start + view->ip->ihl * 4 + headers;
}

/* The captured bytes of a packet; 0 if it is not wanted. */
static u32 choose_bytes(const struct view *view)
{
	struct tcphdr copy;
	const struct tcphdr *transport = transport_of(view, &copy);

	return is_wanted(transport) ? min(view->skb->len - view->start, captured_bytes(view, transport)) : 0;
}

static unsigned int block_length(u32 captured)
{
	return sizeof(struct lh_packet_block) + ALIGN(captured, 4) + sizeof(struct lh_packet_end);
}

static void fill_block(u8 *bytes, const struct view *view, u32 interface, u32 flags, u64 t_ns, u32 captured)
{
	u32 padded = ALIGN(captured, 4), length = block_length(captured);

	*(struct lh_packet_block *)bytes = (struct lh_packet_block){
		.type = LH_PACKET_BLOCK,
		.length = length,
		.interface = interface,
		.time_high = t_ns >> 32,
		.time_low = t_ns,
		.captured = captured,
		.whole = view->skb->len - view->start,
	};
	bytes += sizeof(struct lh_packet_block);
	memset(bytes + padded - 4, 0, 4);
	if (skb_copy_bits(view->skb, view->start, bytes, captured))
		memset(bytes, 0, captured);
	*(struct lh_packet_end *)(bytes + padded) = (struct lh_packet_end){
		.flags_code = LH_PACKET_FLAGS,
		.flags_length = 4,
		.flags = flags,
		.length = length,
	};
}

/* Writes the block of a packet, if it is wanted; its place in the file, or LH_NO_BLOCK. */
static u64 write_block(const struct view *view, u32 interface, u32 flags)
{
	u32 captured = choose_bytes(view);
	unsigned int length = block_length(captured);

	if (!captured)
		return LH_NO_BLOCK;
	fill_block(reserve(&blocks, length), view, interface, flags, now_ns(), captured);
	return blocks.written + blocks.used - length;
}

static void write_event(enum lh_capture_what what, int interface, u64 block)
{
	struct lh_capture_event *event = reserve(&events, sizeof(*event));

	*event = (struct lh_capture_event){
		.block = block,
		.t_ns = now_ns(),
		.what = what,
		.interface = interface,
	};
}

/* ---- tracepoints ---- */

static bool is_marked(const struct view *view)
{
	return view->ip && INET_ECN_is_ce(view->ip->tos);
}

/* Of a switch's packets only those can be marked that say so as they come: only those are remembered. */
static void on_net_dev_queue(void *unused, struct sk_buff *skb)
{
	int interface = interface_of(skb->dev);
	unsigned long flags;
	struct view view;
	u64 block = LH_NO_BLOCK;

	if (interface < 0)
		return;
	look_at(&view, skb, 0, skb_network_offset(skb));
	if (!is_hosts[interface] && (!view.ip || INET_ECN_is_not_ect(view.ip->tos)))
		return;
	spin_lock_irqsave(&lock, flags);
	if (is_hosts[interface])
		block = write_block(&view, interface, LH_OUTBOUND);
	remember(skb, block, is_marked(&view));
	spin_unlock_irqrestore(&lock, flags);
}

static void see_departure(const struct view *view, int interface)
{
	const struct waiting *packet = is_marked(view) ? find_waiting(view->skb) : NULL;
	u64 block = is_hosts[interface] ? LH_NO_BLOCK : write_block(view, interface, LH_OUTBOUND);

	if (packet && !packet->marked)
		write_event(LH_CAPTURE_MARK, interface, is_hosts[interface] ? packet->block : block);
}

static void on_netif_receive_skb(void *unused, struct sk_buff *skb)
{
	int from = find_device(peers, skb->dev), interface = interface_of(skb->dev);
	unsigned long flags;
	struct view view;

	if (from < 0 && interface < 0)
		return;
	spin_lock_irqsave(&lock, flags);
	look_at(&view, skb, skb_mac_offset(skb), 0);
	if (from >= 0)
		see_departure(&view, from);
	if (interface >= 0)
		write_block(&view, interface, LH_INBOUND);
	spin_unlock_irqrestore(&lock, flags);
}

/* The same drops as in the trace (lh_trace.c), in the same order. */
static void on_kfree_skb(void *unused, struct sk_buff *skb)
{
	int interface = interface_of(skb->dev);
	const struct waiting *packet;
	u64 block = LH_NO_BLOCK;
	unsigned long flags;
	struct view view;

	if (interface < 0 || skb->protocol != htons(ETH_P_IP))
		return;
	spin_lock_irqsave(&lock, flags);
	if (is_outbound(skb) && is_hosts[interface]) {
		packet = find_waiting(skb);
		block = packet ? packet->block : LH_NO_BLOCK;
	} else if (is_outbound(skb)) {
		look_at(&view, skb, 0, skb_network_offset(skb));
		block = write_block(&view, interface, LH_OUTBOUND);
	}
	write_event(LH_CAPTURE_DROP, interface, block);
	spin_unlock_irqrestore(&lock, flags);
}

static struct hook hook_list[] = {
	{ "net_dev_queue", on_net_dev_queue },
	{ "netif_receive_skb", on_netif_receive_skb },
	{ "kfree_skb", on_kfree_skb },
};

static struct hooks hooks = { .list = hook_list, .count = ARRAY_SIZE(hook_list) };

/* ---- devices ---- */

static struct net_device *peer_of(struct net_device *dev)
{
	return dev->netdev_ops->ndo_get_peer_dev ? dev->netdev_ops->ndo_get_peer_dev(dev) : NULL;
}

/* Devices come with their names, move between namespaces and go; the notifier is called for those that are there already, too. */
static int on_device(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	unsigned long flags;
	int i;

	if (event != NETDEV_REGISTER && event != NETDEV_CHANGENAME && event != NETDEV_UNREGISTER && event != NETDEV_UP)
		return NOTIFY_DONE;
	spin_lock_irqsave(&lock, flags);
	for (i = 0; i < nr_at; i++) {
		if (event == NETDEV_UP && devices[i] == dev)
			peers[i] = peer_of(dev);
		else if (event != NETDEV_UP && event != NETDEV_UNREGISTER && !strcmp(at[i], dev->name))
			devices[i] = dev;
		else if (event != NETDEV_UP && devices[i] == dev)
			devices[i] = NULL;
		if (event == NETDEV_UNREGISTER && peers[i] == dev)
			peers[i] = NULL;
	}
	spin_unlock_irqrestore(&lock, flags);
	return NOTIFY_DONE;
}

static struct notifier_block device_notifier = { .notifier_call = on_device };

/* ---- coming and going ---- */

static void finish(void)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	write_out(&blocks);
	write_out(&events);
	spin_unlock_irqrestore(&lock, flags);
}

static int on_power_off(struct notifier_block *block, unsigned long event, void *unused)
{
	finish();
	return NOTIFY_DONE;
}

static struct notifier_block power_notifier = { .notifier_call = on_power_off };

static int parse_ports(void)
{
	if (!ports)
		return 0;
	wanted = bitmap_zalloc(LH_PORTS, GFP_KERNEL);
	return wanted ? bitmap_parselist(ports, wanted, LH_PORTS) : -ENOMEM;
}

static void let_go_of_memory(void)
{
	close_host_file(&blocks);
	close_host_file(&events);
	vfree(waiting);
	vfree(heads);
	bitmap_free(wanted);
}

static int __init lh_capture_init(void)
{
	int i, error = -ENOMEM;

	for (i = 0; i < nr_hosts; i++) {
		if (hosts[i] >= LH_CAPTURE_DEVICES)
			return -EINVAL;
		is_hosts[hosts[i]] = true;
	}
	if (!nr_at || snap > LH_BLOCKS_BYTES / 2)
		return -EINVAL;
	/* The places are a power of two. */
	for (bits = 10; bits < LH_MOST_BITS && 1u << bits < held; bits++)
		;
	blocks.fd = -1;
	events.fd = -1;
	waiting = vzalloc(sizeof(*waiting) << bits);
	heads = vzalloc(sizeof(*heads) << bits);
	if (!waiting || !heads)
		goto free;
	error = parse_ports();
	if (!error)
		error = open_host_file(&blocks);
	if (!error)
		error = open_host_file(&events);
	if (error)
		goto free;
	error = register_netdevice_notifier(&device_notifier);
	if (error)
		goto free;
	error = hook_all(&hooks);
	if (error)
		goto unhook;
	error = register_reboot_notifier(&power_notifier);
	if (error)
		goto unhook;
	return 0;
unhook:
	unhook_all(&hooks);
	unregister_netdevice_notifier(&device_notifier);
free:
	let_go_of_memory();
	return error;
}

static void __exit lh_capture_exit(void)
{
	unregister_reboot_notifier(&power_notifier);
	unhook_all(&hooks);
	unregister_netdevice_notifier(&device_notifier);
	finish();
	let_go_of_memory();
}

module_init(lh_capture_init);
module_exit(lh_capture_exit);

MODULE_DESCRIPTION("Packets of devices, from inside a virtual-time guest");
MODULE_LICENSE("GPL");
