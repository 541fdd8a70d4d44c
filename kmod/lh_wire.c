// SPDX-License-Identifier: GPL-2.0
/*
 * lh_wire: a wire to a host in another guest. Each guest is a part of one run and has a virtual clock of its own.
 *
 *	part 0: a1 --[ lh_wire ]--+                 +--[ lh_wire ]-- s1 : part 1
 *	                          +== a stream a way ==+
 *
 * A packet that is sent at t arrives at t + delay. The delay is what lets both parts run at once: at each barrier, every
 * `window_ns`, a part publishes "all that I sent before this instant is in the stream", and runs for one more window as soon as
 * no packet can arrive in it that is not there yet. It waits for that in a host call from a timer, while its
 * virtual time stands still. So what arrives, and when, does not depend on which part is faster.
 *
 *	published by the peer   >=  end of the window - delay
 *
 * Where all packets of a wire go to links with a delay (sch_lh_link.c), which foresee when each will leave, a barrier hands on
 * all that arrives before the next one, with the instant at which it was sent: a packet then takes no timer of its own. Of several
 * such wires packets come in the order in which they were sent.
 *
 * A stream lies in memory that both parts inherit as a descriptor; a socket pair is the doorbell, whose end of file means that
 * the peer is dead. The agent says hello through /proc/lh_wire before the first barrier, and says when the run is over.
 *
 * User-Mode Linux only: it makes system calls of the host.
 */

#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/prefetch.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>
#include <net/sock.h>
#include <asm/unistd.h>

#include "lh_wire.h"
#include "link_queue.h"

#define MAX_PEERS 16
#define MAX_WIRES 1024 /* to one peer */
#define MAX_AHEAD 64   /* those whose packets are handed on ahead */
#define NEVER U64_MAX

static unsigned int part;
module_param(part, uint, 0444);
MODULE_PARM_DESC(part, "number of this part of the run");

static unsigned int peers[MAX_PEERS], nr_peers;
module_param_array(peers, uint, &nr_peers, 0444);
MODULE_PARM_DESC(peers, "numbers of the parts that this one has wires to");

static int memory_fd[MAX_PEERS];
static unsigned int nr_memory;
module_param_array(memory_fd, int, &nr_memory, 0444);
MODULE_PARM_DESC(memory_fd, "host descriptor of the memory shared with each of them");

static int bell_fd[MAX_PEERS];
static unsigned int nr_bells;
module_param_array(bell_fd, int, &nr_bells, 0444);
MODULE_PARM_DESC(bell_fd, "host descriptor of the doorbell to each of them");

static ulong least_delay_ns[MAX_PEERS];
static unsigned int nr_delays;
module_param_array(least_delay_ns, ulong, &nr_delays, 0444);
MODULE_PARM_DESC(least_delay_ns, "the least delay of the wires from each of them");

static unsigned int wires_of[MAX_PEERS], nr_counts;
module_param_array_named(wires, wires_of, uint, &nr_counts, 0444);
MODULE_PARM_DESC(wires, "number of the wires to each of them");

static ulong arena_bytes = 1 << 24;
module_param(arena_bytes, ulong, 0444);
MODULE_PARM_DESC(arena_bytes, "most bytes of packets on the way from one part to another");

static ulong window_ns;
module_param(window_ns, ulong, 0444);
MODULE_PARM_DESC(window_ns, "virtual time from one barrier to the next");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "the run's seed: both parts must have the same");

static unsigned int spins;
module_param(spins, uint, 0644);
MODULE_PARM_DESC(spins, "looks at the peer before this part sleeps");

/*
 * A packet in a stream, with the layout of its memory: that decides how the receiver accounts for it, and so its window. Behind it
 * are the bytes of its head, and those of each fragment that is not a page of zeros, as the agent sends them.
 */
struct record {
	u64 due_ns;
	u32 bytes; /* of the record */
	u32 truesize;
	u32 length; /* of the packet; 0: the stream continues in the chunk with the number in `truesize` */
	u32 head_length;
	u32 hash;
	u32 end_offset, head_room;
	u16 csum_start, csum_offset;
	u8 ip_summed, l4_hash, sw_hash, fragments;
	u32 late; /* sent by a program, and so after all that timers and packets of that instant sent */
	u32 fragment[MAX_SKB_FRAGS]; /* their lengths; ZEROS: of zeros */
	u8 data[];
};

#define ZEROS BIT(31)

#define RECORD_ALIGN 64

/* Kernels whose packets have another number of fragments have other records. */
#define PROTOCOL (LH_WIRE_PROTOCOL | (unsigned long)MAX_SKB_FRAGS << 16)

struct wire;

#define NONE U32_MAX

/* A chunk of an arena, in the order of a stream, or among those that are free. */
struct chunk {
	u64 end; /* of its part of the stream */
	u32 next;
};

struct peer {
	unsigned int number;
	u8 *memory;
	struct lh_wire_lane *out, *in;
	u8 *out_arena, *in_arena;
	struct chunk *chunks; /* of the arena that is written */
	u32 nr_chunks, nr_used, free; /* free: the first of those that can be used again, or NONE */
	u64 least_delay_ns; /* of what is received */
	int bell;
	struct wire *wires[MAX_WIRES];
	unsigned int nr_wires; /* the greatest place, and one more */
};

/* One end of a wire. */
struct wire {
	struct net_device *dev;
	struct peer *peer;
	u64 delay_ns, ahead_ns;
	struct lh_wire_cursor *out, *in;
	u64 head, known_tail;	     /* of what is sent */
	u32 first_chunk, last_chunk; /* those that may not have been read yet */
	u32 offset;		     /* in the last one */
	u64 sent_ns;		     /* of the last packet, and whether it was late */
	bool was_late;
	u64 tail, available; /* of what is received */
	u64 tail_at;	     /* in the arena */
	bool armed;
	struct hrtimer timer;
	u64 tx_packets, tx_bytes, tx_dropped, rx_packets, rx_bytes, rx_dropped, early;
};

static struct peer channels[MAX_PEERS];
static struct wire *ahead[MAX_AHEAD];
static unsigned int nr_ahead;
static u64 sent_ns; /* of the packet that is handed on ahead, else 0 */
static struct hrtimer barrier;
static u64 epoch_ns, horizon_ns, waits, windows, blocked_ns; /* horizon: all that arrives before it is available */
static bool over;

/* ---- the host ---- */

static long host(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long answer;

	asm volatile("syscall"
		     : "=a"(answer)
		     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return answer;
}

static u64 host_now_ns(void)
{
	s64 now[2];

	host(__NR_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)now, 0, 0, 0, 0);
	return now[0] * NSEC_PER_SEC + now[1];
}

#define HOST_SHARED_READ_WRITE 3, 1 /* PROT_READ | PROT_WRITE, MAP_SHARED */
#define HOST_MSG_NOSIGNAL 0x4000

/* ---- sending ---- */

static struct record *record_at(const struct wire *wire)
{
	return (void *)(wire->peer->out_arena + (u64)wire->last_chunk * LH_WIRE_CHUNK_BYTES + wire->offset);
}

/* Takes back the chunks that the peer has read. */
static void reclaim(struct wire *wire)
{
	struct peer *peer = wire->peer;

	wire->known_tail = __atomic_load_n(&wire->out->tail, __ATOMIC_ACQUIRE);
	while (wire->first_chunk != wire->last_chunk && peer->chunks[wire->first_chunk].end <= wire->known_tail) {
		u32 read = wire->first_chunk;

		wire->first_chunk = peer->chunks[read].next;
		peer->chunks[read].next = peer->free;
		peer->free = read;
	}
}

static u32 new_chunk(struct wire *wire)
{
	struct peer *peer = wire->peer;
	u32 chunk;

	if (peer->free == NONE)
		reclaim(wire);
	chunk = peer->free;
	if (chunk != NONE)
		peer->free = peer->chunks[chunk].next;
	else if (peer->nr_used < peer->nr_chunks)
		chunk = peer->nr_used++;
	else
		panic("lh_wire: %lu bytes of packets from %s to part %u are not enough", arena_bytes, wire->dev->name,
		      peer->number);
	return chunk;
}

/* The next record of a stream; behind it there is always room for a link. */
static struct record *reserve(struct wire *wire, u32 bytes)
{
	u32 room = LH_WIRE_CHUNK_BYTES - wire->offset;
	struct record *record = record_at(wire);

	if (bytes + RECORD_ALIGN > room) {
		u32 next = new_chunk(wire);

		record->length = 0;
		record->bytes = room;
		record->truesize = next;
		wire->head += room;
		wire->peer->chunks[wire->last_chunk] = (struct chunk){ .end = wire->head, .next = next };
		wire->last_chunk = next;
		wire->offset = 0;
		record = record_at(wire);
	}
	record->bytes = bytes;
	wire->head += bytes;
	wire->offset += bytes;
	return record;
}

/* 5.10 and 6.1 send the hole of a file from pages of its own: there the bytes decide, not the page. */
static bool is_zeros(const skb_frag_t *fragment)
{
	u32 bytes = skb_frag_size(fragment);

	return skb_frag_page(fragment) == ZERO_PAGE(0) ||
	       (bytes <= PAGE_SIZE && !memchr_inv(skb_frag_address(fragment), 0, bytes));
}

/* The bytes of a packet that are copied, and which of its fragments are zeros. */
static u32 copied_bytes(const struct sk_buff *skb, u64 *zeros)
{
	u32 bytes = skb_headlen(skb);
	int i;

	*zeros = 0;
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		if (is_zeros(&skb_shinfo(skb)->frags[i]))
			*zeros |= BIT_ULL(i);
		else
			bytes += skb_frag_size(&skb_shinfo(skb)->frags[i]);
	}
	return bytes;
}

static void copy_packet(struct record *record, const struct sk_buff *skb, u64 zeros)
{
	u8 *to = record->data;
	int i;

	memcpy(to, skb->data, skb_headlen(skb));
	to += skb_headlen(skb);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *fragment = &skb_shinfo(skb)->frags[i];

		record->fragment[i] = skb_frag_size(fragment);
		if (zeros & BIT_ULL(i)) {
			record->fragment[i] |= ZEROS;
			continue;
		}
		/* User-Mode Linux has no memory without an address. */
		memcpy(to, skb_frag_address(fragment), skb_frag_size(fragment));
		to += skb_frag_size(fragment);
	}
}

static netdev_tx_t lh_wire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct wire *wire = netdev_priv(dev);
	u64 now = ktime_get_ns();
	struct record *record;
	u32 bytes;
	u64 zeros;

	skb_tx_timestamp(skb);
	if (now < epoch_ns || !epoch_ns || over) {
		wire->early++;
		wire->tx_dropped++;
		goto out;
	}
	if (skb_shinfo(skb)->frag_list && skb_linearize(skb)) {
		wire->tx_dropped++;
		goto out;
	}
	bytes = ALIGN(sizeof(*record) + copied_bytes(skb, &zeros), RECORD_ALIGN);
	if (bytes + RECORD_ALIGN > LH_WIRE_CHUNK_BYTES) {
		wire->tx_dropped++;
		goto out;
	}
	record = reserve(wire, bytes);
	wire->was_late = !in_serving_softirq() || (wire->was_late && wire->sent_ns == now);
	wire->sent_ns = now;
	record->due_ns = now + wire->delay_ns;
	record->late = wire->was_late;
	record->truesize = skb->truesize;
	record->length = skb->len;
	record->head_length = skb_headlen(skb);
	record->fragments = skb_shinfo(skb)->nr_frags;
	record->hash = skb->hash;
	record->l4_hash = skb->l4_hash;
	record->sw_hash = skb->sw_hash;
	record->end_offset = skb_end_offset(skb);
	record->head_room = skb_headroom(skb);
	record->ip_summed = skb->ip_summed;
	record->csum_start = skb->ip_summed == CHECKSUM_PARTIAL ? skb_checksum_start_offset(skb) : 0;
	record->csum_offset = skb->ip_summed == CHECKSUM_PARTIAL ? skb->csum_offset : 0;
	copy_packet(record, skb, zeros);
	wire->tx_packets++;
	wire->tx_bytes += skb->len;
out:
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}

/* ---- receiving ---- */

static bool add_fragment(struct sk_buff *skb, int number, u32 fragment, const u8 **from)
{
	u32 bytes = fragment & ~ZEROS;
	struct page *page = ZERO_PAGE(0);

	if (fragment & ZEROS) {
		get_page(page);
	} else {
		page = alloc_pages(GFP_ATOMIC | __GFP_COMP, get_order(bytes));
		if (!page)
			return false;
		memcpy(page_address(page), *from, bytes);
		*from += bytes;
	}
	skb_fill_page_desc(skb, number, page, 0, bytes);
	skb->len += bytes;
	skb->data_len += bytes;
	return true;
}

/* The packet as the sender's kernel had it. */
static struct sk_buff *packet_of(const struct record *record)
{
	struct sk_buff *skb = alloc_skb(max(record->end_offset, record->head_room + record->head_length), GFP_ATOMIC);
	const u8 *from = record->data + record->head_length;
	int i;

	if (!skb)
		return NULL;
	skb_reserve(skb, record->head_room);
	skb_put_data(skb, record->data, record->head_length);
	for (i = 0; i < record->fragments; i++) {
		if (!add_fragment(skb, i, record->fragment[i], &from)) {
			kfree_skb(skb);
			return NULL;
		}
	}
	skb->truesize = record->truesize;
	skb->hash = record->hash;
	skb->l4_hash = record->l4_hash;
	skb->sw_hash = record->sw_hash;
	skb->ip_summed = record->ip_summed;
	if (record->ip_summed == CHECKSUM_PARTIAL) {
		skb->csum_start = skb_headroom(skb) + record->csum_start;
		skb->csum_offset = record->csum_offset;
	}
	return skb;
}

static void receive(struct wire *wire, const struct record *record)
{
	struct net_device *dev = wire->dev;
	struct sk_buff *skb;

	if (!(dev->flags & IFF_UP) || record->length > dev->mtu + dev->hard_header_len + 4) {
		wire->rx_dropped++;
		return;
	}
	skb = packet_of(record);
	if (!skb)
		panic("lh_wire: no memory for a packet of %u bytes", record->length);
	wire->rx_packets++;
	wire->rx_bytes += record->length;
	skb->protocol = eth_type_trans(skb, dev);
	netif_receive_skb(skb);
}

/* The peer may be any kernel. */
static bool is_sound(const struct wire *wire, const struct record *record)
{
	u64 left = min(wire->available - wire->tail, LH_WIRE_CHUNK_BYTES - wire->tail_at % LH_WIRE_CHUNK_BYTES);
	u64 length = record->head_length, copied = record->head_length;
	int i;

	if (left < RECORD_ALIGN || record->bytes < RECORD_ALIGN || record->bytes > left)
		return false;
	if (!record->length)
		return record->truesize < wire->peer->nr_chunks;
	if (record->bytes < sizeof(*record) || record->fragments > MAX_SKB_FRAGS || record->head_length < ETH_HLEN ||
	    record->head_length > 65536 || record->head_room > 65536 || record->end_offset > 131072 || record->late > 1)
		return false;
	for (i = 0; i < record->fragments; i++) {
		u32 bytes = record->fragment[i] & ~ZEROS;

		if (!bytes || bytes > 65536 || (record->fragment[i] & ZEROS && bytes > PAGE_SIZE))
			return false;
		length += bytes;
		copied += record->fragment[i] & ZEROS ? 0 : bytes;
	}
	return length == record->length && sizeof(*record) + copied <= record->bytes;
}

static const struct record *next_record(struct wire *wire)
{
	while (wire->tail != wire->available) {
		const struct record *record = (const void *)(wire->peer->in_arena + wire->tail_at);

		if (!is_sound(wire, record))
			panic("lh_wire: part %u sent a broken record to %s", wire->peer->number, wire->dev->name);
		if (record->length)
			return record;
		wire->tail += record->bytes;
		wire->tail_at = (u64)record->truesize * LH_WIRE_CHUNK_BYTES;
	}
	return NULL;
}

/*
 * Links are served in the order of their wires, whichever part they are in, and before all else that is due at their instant.
 * The plan gives addresses 02:00:00:<wire>:<end>, and a link is named by the end that sends. Packets of programs come after
 * those of timers on all wires, as they do where all hosts are in one guest.
 */
static int order_of(const struct wire *wire, const struct record *record)
{
	const u8 *mac = wire->dev->dev_addr;

	return INT_MIN + (record->late << 24 | mac[3] << 16 | mac[4] << 8 | (3 - mac[5]));
}

static void set_order(struct wire *wire, const struct record *record)
{
#ifdef LH_HAVE_TIMER_ORDER
	wire->timer.node.order = order_of(wire, record);
#endif
}

/* In the softirq of timers. */
static void arm(struct wire *wire)
{
	const struct record *record = next_record(wire);

	if (!record || record->due_ns >= horizon_ns)
		return;
	wire->armed = true;
	set_order(wire, record);
	hrtimer_start(&wire->timer, ns_to_ktime(record->due_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
}

static void take(struct wire *wire, const struct record *record)
{
	u32 bytes = record->bytes;

	prefetch((const u8 *)record + bytes);
	prefetch((const u8 *)record + bytes + 64);
	receive(wire, record);
	wire->tail += bytes;
	wire->tail_at += bytes;
}

static enum hrtimer_restart on_due(struct hrtimer *timer)
{
	struct wire *wire = container_of(timer, struct wire, timer);
	u64 now = ktime_to_ns(hrtimer_get_expires(timer));
	const struct record *record = next_record(wire);
	u32 late = record ? record->late : 0;

	for (; record; record = next_record(wire)) {
		if (record->due_ns > now || record->late != late) {
			if (record->due_ns >= horizon_ns)
				break;
			set_order(wire, record);
			hrtimer_set_expires(timer, ns_to_ktime(record->due_ns));
			return HRTIMER_RESTART;
		}
		take(wire, record);
	}
	wire->armed = false;
	return HRTIMER_NORESTART;
}

/* ---- packets that are handed on ahead of their arrival ---- */

static bool comes_first(const struct wire *wire, const struct record *record, const struct wire *other,
			const struct record *others)
{
	u64 one_ns = record->due_ns - wire->ahead_ns, other_ns = others->due_ns - other->ahead_ns;

	return one_ns < other_ns || (one_ns == other_ns && order_of(wire, record) < order_of(other, others));
}

static void hand_on_ahead(void)
{
	for (;;) {
		const struct record *first = NULL;
		struct wire *wire = NULL;
		unsigned int i;

		for (i = 0; i < nr_ahead; i++) {
			const struct record *record = next_record(ahead[i]);

			if (!record || record->due_ns >= horizon_ns)
				continue;
			if (!first || comes_first(ahead[i], record, wire, first)) {
				first = record;
				wire = ahead[i];
			}
		}
		if (!first)
			return;
		sent_ns = first->due_ns - wire->ahead_ns;
		take(wire, first);
		sent_ns = 0;
	}
}

/* The links of a switch read from here when a packet was sent. */
static void connect_links(const struct wire *wire)
{
	struct net_device *dev;

	rcu_read_lock();
	for_each_netdev_rcu(dev_net(wire->dev), dev) {
		struct link_queue *queue = link_queue_of(rcu_dereference(dev->qdisc));

		if (queue)
			queue->sent_ns = &sent_ns;
	}
	rcu_read_unlock();
}

/* ---- barriers ---- */

static void ring_bell(struct peer *peer)
{
	if (__atomic_exchange_n(&peer->out->waiting, 0, __ATOMIC_SEQ_CST))
		host(__NR_sendto, peer->bell, (long)"", 1, HOST_MSG_NOSIGNAL, 0, 0);
}

/* Until the word is at least this; virtual time stands still. */
static void wait_for(struct peer *peer, u64 *word, u64 least)
{
	unsigned int i;
	u64 began;

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= least)
		return;
	waits++;
	began = host_now_ns();
	for (i = 0; i < spins; i++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= least)
			goto out;
		asm volatile("pause");
	}
	for (;;) {
		u8 bytes[64];
		long got;

		__atomic_store_n(&peer->in->waiting, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(word, __ATOMIC_SEQ_CST) >= least)
			break;
		got = host(__NR_recvfrom, peer->bell, (long)bytes, sizeof(bytes), 0, 0, 0);
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= least)
			break;
		if (!got || (got < 0 && got != -EINTR))
			panic("lh_wire: part %u is gone", peer->number);
	}
	__atomic_store_n(&peer->in->waiting, 0, __ATOMIC_SEQ_CST);
out:
	blocked_ns += host_now_ns() - began;
}

static void publish(struct peer *peer, u64 until_ns)
{
	unsigned int i;

	for (i = 0; i < peer->nr_wires; i++) {
		struct wire *wire = peer->wires[i];

		if (!wire)
			continue;
		wire->in->tail_at = wire->tail_at;
		__atomic_store_n(&wire->in->tail, wire->tail, __ATOMIC_RELEASE);
		__atomic_store_n(&wire->out->head, wire->head, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&peer->out->published_ns, until_ns, __ATOMIC_SEQ_CST);
	ring_bell(peer);
}

static void take_in(struct peer *peer)
{
	unsigned int i;

	for (i = 0; i < peer->nr_wires; i++) {
		struct wire *wire = peer->wires[i];

		if (!wire)
			continue;
		wire->available = __atomic_load_n(&wire->in->head, __ATOMIC_ACQUIRE);
		if (wire->available < wire->tail)
			panic("lh_wire: part %u sent a broken stream to %s", peer->number, wire->dev->name);
		if (!wire->armed && !wire->ahead_ns)
			arm(wire);
	}
}

/* What the peer must have published before this part runs for a window. */
static u64 needed_before(const struct peer *peer, u64 now)
{
	u64 end = now + window_ns;

	return end > peer->least_delay_ns ? end - peer->least_delay_ns : 0;
}

static enum hrtimer_restart on_barrier(struct hrtimer *timer)
{
	u64 now = ktime_to_ns(hrtimer_get_expires(timer));
	unsigned int i;

	if (over)
		return HRTIMER_NORESTART;
	windows++;
	for (i = 0; i < nr_peers; i++)
		publish(&channels[i], now);
	for (i = 0; i < nr_peers; i++)
		wait_for(&channels[i], &channels[i].in->published_ns, needed_before(&channels[i], now));
	horizon_ns = now + window_ns;
	for (i = 0; i < nr_peers; i++)
		take_in(&channels[i]);
	hand_on_ahead();
	hrtimer_set_expires(timer, ns_to_ktime(now + window_ns));
	return HRTIMER_RESTART;
}

/* ---- the agent: "hello EPOCH" before time zero, "over" at the end ---- */

/*
 * All parts take the latest instant that one of them proposes. A part hears of those that it has no wire to in the rounds
 * after the first; on the way through the part in the middle two suffice.
 */
#define HELLOS 3

static int hear_hello(const struct peer *peer, u64 round, u64 *agreed_ns)
{
	const struct lh_wire_hello *its = &peer->in->hello;

	wait_for((struct peer *)peer, &peer->in->hellos, round);
	if (its->protocol != PROTOCOL || its->arena_bytes != arena_bytes || its->seed != seed) {
		pr_err("lh_wire: part %u has protocol %llu, arenas of %llu bytes and seed %llu; this one %lu, %lu and %lu\n",
		       peer->number, its->protocol, its->arena_bytes, its->seed, PROTOCOL, arena_bytes, seed);
		return -EPROTO;
	}
	*agreed_ns = max(*agreed_ns, READ_ONCE(its->epoch_ns));
	return 0;
}

static int say_hello(u64 proposed_ns)
{
	u64 agreed_ns = proposed_ns, round;
	unsigned int i;
	int error;

	for (round = 1; round <= HELLOS; round++) {
		for (i = 0; i < nr_peers; i++) {
			channels[i].out->hello = (struct lh_wire_hello){PROTOCOL, arena_bytes, seed, agreed_ns};
			__atomic_store_n(&channels[i].out->hellos, round, __ATOMIC_SEQ_CST);
			ring_bell(&channels[i]);
		}
		for (i = 0; i < nr_peers; i++) {
			error = hear_hello(&channels[i], round, &agreed_ns);
			if (error)
				return error;
		}
	}
	epoch_ns = agreed_ns;
	for (i = 0; i < nr_ahead; i++)
		connect_links(ahead[i]);
	hrtimer_start(&barrier, ns_to_ktime(epoch_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
	return 0;
}

static ssize_t write_command(struct file *file, const char __user *text, size_t length, loff_t *at)
{
	char command[64];
	u64 proposed_ns;
	unsigned int i;
	int error = 0;

	if (length >= sizeof(command) || copy_from_user(command, text, length))
		return -EINVAL;
	command[length] = 0;
	if (sscanf(command, "hello %llu", &proposed_ns) == 1 && !epoch_ns) {
		error = say_hello(proposed_ns);
	} else if (!strncmp(command, "over", 4)) {
		over = true;
		hrtimer_cancel(&barrier);
		for (i = 0; i < nr_peers; i++)
			publish(&channels[i], NEVER);
	} else {
		error = -EINVAL;
	}
	return error ?: (ssize_t)length;
}

static ssize_t read_state(struct file *file, char __user *text, size_t length, loff_t *at)
{
	char state[192];
	int used = scnprintf(state, sizeof(state), "epoch_ns %llu\nwindows %llu\nwaits %llu\nblocked_ns %llu\n",
			     epoch_ns, windows, waits, blocked_ns);

	return simple_read_from_buffer(text, length, at, state, used);
}

static const struct proc_ops proc_ops = {
	.proc_read = read_state,
	.proc_write = write_command,
};

/* ---- devices ---- */

static void get_stats(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	const struct wire *wire = netdev_priv(dev);

	stats->tx_packets = wire->tx_packets;
	stats->tx_bytes = wire->tx_bytes;
	stats->tx_dropped = wire->tx_dropped;
	stats->rx_packets = wire->rx_packets;
	stats->rx_bytes = wire->rx_bytes;
	stats->rx_dropped = wire->rx_dropped;
}

static const struct net_device_ops device_ops = {
	.ndo_start_xmit = lh_wire_xmit,
	.ndo_get_stats64 = get_stats,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void set_up_device(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &device_ops;
	dev->needs_free_netdev = true;
	dev->priv_flags |= IFF_NO_QUEUE | IFF_LIVE_ADDR_CHANGE;
	dev->features |= NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_RXCSUM | NETIF_F_HIGHDMA;
	dev->hw_features = dev->features;
	dev->max_mtu = ETH_MAX_MTU;
}

static const struct nla_policy policy[LH_WIRE_MAX + 1] = {
	[LH_WIRE_PEER] = { .type = NLA_U32 },
	[LH_WIRE_PLACE] = NLA_POLICY_MAX(NLA_U32, MAX_WIRES - 1),
	[LH_WIRE_DELAY_NS] = { .type = NLA_U64 },
	[LH_WIRE_AHEAD_NS] = { .type = NLA_U64 },
};

static void lay_out(struct wire *wire, unsigned int place)
{
	bool first = part < wire->peer->number;
	struct lh_wire_cursor *cursors = (void *)(wire->peer->memory + LH_WIRE_CURSORS_AT(place));

	wire->out = &cursors[first ? 0 : 1];
	wire->in = &cursors[first ? 1 : 0];
	wire->first_chunk = place;
	wire->last_chunk = place;
	wire->tail_at = (u64)place * LH_WIRE_CHUNK_BYTES;
	wire->in->tail_at = wire->tail_at;
}

static int LH_NEWLINK(make_device)
{
	struct nlattr **its = LH_NEWLINK_DATA;
	struct wire *wire = netdev_priv(dev);
	unsigned int place, i;
	int error;

	if (!its || !its[LH_WIRE_PEER] || !its[LH_WIRE_PLACE] || !its[LH_WIRE_DELAY_NS]) {
		NL_SET_ERR_MSG_MOD(extack, "a wire needs its peer, place and delay");
		return -EINVAL;
	}
	place = nla_get_u32(its[LH_WIRE_PLACE]);
	for (i = 0; i < nr_peers && channels[i].number != nla_get_u32(its[LH_WIRE_PEER]); i++)
		continue;
	if (i == nr_peers) {
		NL_SET_ERR_MSG_MOD(extack, "no such part");
		return -EINVAL;
	}
	if (channels[i].wires[place] || place >= wires_of[i]) {
		NL_SET_ERR_MSG_MOD(extack, "no place for this wire, or one that is taken");
		return -EEXIST;
	}
	wire->dev = dev;
	wire->delay_ns = nla_get_u64(its[LH_WIRE_DELAY_NS]);
	if (its[LH_WIRE_AHEAD_NS])
		wire->ahead_ns = nla_get_u64(its[LH_WIRE_AHEAD_NS]);
	if (wire->ahead_ns && nr_ahead == MAX_AHEAD) {
		NL_SET_ERR_MSG_MOD(extack, "too many wires that hand packets on ahead");
		return -ENOSPC;
	}
	wire->peer = &channels[i];
	lay_out(wire, place);
	hrtimer_setup(&wire->timer, on_due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
	error = register_netdevice(dev);
	if (!error) {
		channels[i].wires[place] = wire;
		channels[i].nr_wires = max(channels[i].nr_wires, place + 1);
		if (wire->ahead_ns)
			ahead[nr_ahead++] = wire;
		netif_carrier_on(dev);
	}
	return error;
}

static void remove_device(struct net_device *dev, struct list_head *head)
{
	struct wire *wire = netdev_priv(dev);
	unsigned int i;

	hrtimer_cancel(&wire->timer);
	for (i = 0; i < wire->peer->nr_wires; i++)
		if (wire->peer->wires[i] == wire)
			wire->peer->wires[i] = NULL;
	for (i = 0; i < nr_ahead; i++)
		if (ahead[i] == wire)
			ahead[i] = ahead[--nr_ahead];
	unregister_netdevice_queue(dev, head);
}

static struct rtnl_link_ops link_ops __read_mostly = {
	.kind = LH_WIRE_KIND,
	.priv_size = sizeof(struct wire),
	.setup = set_up_device,
	.newlink = make_device,
	.dellink = remove_device,
	.policy = policy,
	.maxtype = LH_WIRE_MAX,
};

static int map_channel(struct peer *peer, int fd, int bell, unsigned int count)
{
	u64 arenas_at = LH_WIRE_CURSORS_AT(count);
	long at = host(__NR_mmap, 0, arenas_at + 2 * arena_bytes, HOST_SHARED_READ_WRITE, fd, 0);
	struct lh_wire_lane *lanes = (void *)at;
	bool first = part < peer->number;

	if (at < 0 && at > -4096)
		return at;
	peer->memory = (u8 *)at;
	peer->out = &lanes[first ? 0 : 1];
	peer->in = &lanes[first ? 1 : 0];
	peer->out_arena = peer->memory + arenas_at + (first ? 0 : arena_bytes);
	peer->in_arena = peer->memory + arenas_at + (first ? arena_bytes : 0);
	peer->nr_chunks = arena_bytes / LH_WIRE_CHUNK_BYTES;
	peer->nr_used = count;
	peer->free = NONE;
	peer->chunks = kvcalloc(peer->nr_chunks, sizeof(*peer->chunks), GFP_KERNEL);
	peer->bell = bell;
	return peer->chunks ? 0 : -ENOMEM;
}

static int __init lh_wire_init(void)
{
	unsigned int i;
	int error;

	if (nr_memory != nr_peers || nr_bells != nr_peers || nr_delays != nr_peers || nr_counts != nr_peers ||
	    arena_bytes % LH_WIRE_CHUNK_BYTES || !window_ns)
		return -EINVAL;
	for (i = 0; i < nr_peers; i++) {
		channels[i].number = peers[i];
		if (wires_of[i] > MAX_WIRES || wires_of[i] > arena_bytes / LH_WIRE_CHUNK_BYTES)
			return -EINVAL;
		error = map_channel(&channels[i], memory_fd[i], bell_fd[i], wires_of[i]);
		if (error)
			return error;
		channels[i].least_delay_ns = least_delay_ns[i];
	}
	/* The timer of a wire that a barrier sets to its own instant is served in that instant only if both are of one kind. */
	hrtimer_setup(&barrier, on_barrier, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
#ifdef LH_HAVE_TIMER_ORDER
	barrier.node.order = INT_MIN;
#endif
	if (!proc_create("lh_wire", 0600, NULL, &proc_ops))
		return -ENOMEM;
	return rtnl_link_register(&link_ops);
}

/* There is no way out: the peers count on it. */
module_init(lh_wire_init);

MODULE_DESCRIPTION("A wire between hosts in two guests, with one virtual clock");
MODULE_LICENSE("GPL");
