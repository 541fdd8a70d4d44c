// SPDX-License-Identifier: GPL-2.0
/*
 * lh_link: a plain link in one qdisc: loss, delay, then a queue in front of a line of some rate.
 *
 *	                           due                     leave
 *	--[policer]--[loss]--[delay]-+-[drop-tail queue]-[line]-+--> device
 *	                             |
 *	                           refused
 *
 * It does to the nanosecond what netem > tbf > pfifo or bfifo does with the sandbox's patches, with one timer a packet and one queue:
 *
 *	due    = arrival + delay, and never before the packet in front of it
 *	refused, if `limit` packets or bytes wait at that instant; a packet that leaves at that instant waits no more
 *	leave  = as soon as the packet in front of it has left and the token bucket has room for its length, and the one of the
 *	         peak, if there is one
 *
 * Both times follow from arithmetic when the packet comes, as nothing that comes later can change them. Only a change of the
 * options can: then all that has not happened yet is foreseen anew. So the timer is set for the next packet that leaves or is dropped.
 *
 * What is foreseen lies apart from the packets, in chunks: their own control blocks are out of the cache by the time.
 *
 *	head        left              joined           ahead        tail
 *	|           |                 |                |            |
 *	+-- gone ---+-- waits --------+-- in the delay ------------+
 *
 * A policer has a token bucket of bytes: a frame that finds as many as it is long takes them and passes at once, any other is dropped.
 *
 * A recorded link (recording.h) takes its line, its delay and its losses from tables from an instant on; until then from its options.
 *
 * On a veth device the timer hands a packet to the other end itself. Elsewhere it asks the device to dequeue.
 */

#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/rtnetlink.h>
#include <net/sock.h>
#ifdef LH_HAVE_HRTIMER_BASES
#include <linux/hrtimer_bases.h>
#endif

#include "lh_link.h"
#include "recording.h"
#include "segments.h"
#include "link_queue.h"

#define NEVER U64_MAX

/* Without options: no delay, no loss, and a queue of the device's own length in front of 1 Mbit/s. */
#define RATE_BPS 1000000

/* A packet that is foreseen. */
struct packet {
	struct sk_buff *skb; /* NULL: gone */
	u64 due_ns;
	u64 leave_ns; /* NEVER: refused when it is due */
	u32 bytes;
	u32 met; /* those that waited as it was refused */
};

#define CHUNK_BYTES 4096
#define CHUNK_PACKETS ((CHUNK_BYTES - sizeof(void *)) / sizeof(struct packet))

struct chunk {
	struct chunk *next;
	struct packet packets[CHUNK_PACKETS];
};

struct place {
	struct chunk *chunk;
	unsigned int index;
};

/* A token bucket in time, as tbf has it. */
struct bucket {
	s64 tokens_ns;
	s64 peak_ns; /* of the second one, with a peak */
	s64 filled_ns; /* when it had them */
};

/*
 * The bucket of the policer, in bits / 10^9: at a rate of r bit/s a nanosecond brings r of them, so nothing is ever rounded. The
 * largest burst fits 64 bits.
 */
#define POLICE_PARTS_A_BYTE 8000000000ull
#define LARGEST_POLICE_BURST 1000000000u

struct policer {
	u64 rate_bps; /* 0: none */
	u32 burst_bytes;
	u64 tokens;
	u64 filled_ns; /* when it had them */
	u64 passed_packets, passed_bytes, dropped_packets, dropped_bytes;
};

/* The tables of a recorded link; one that is not whole yet has no effect. */
struct recording {
	struct recorded_table tables[LH_LINK_KINDS];
	u32 rows[LH_LINK_KINDS];  /* that the table will have */
	u32 newest;		  /* the table that rows are added to */
	u32 header_bytes;
	u64 begin_ns;		  /* NEVER: it has not been set */
	bool lined, opportunities;
	struct line_place line;	  /* behind the last packet that is foreseen */
	struct recorded_place delay, loss, lost;
	u64 coming;		  /* packets that have come */
	u64 used_bytes;
};

struct link {
	struct link_queue queue; /* first: link_queue.h */

	/* the options */
	u64 delay_ns, jitter_ns, rate_bps, seed;
	u32 loss, bursts[4], burst_bytes, limit;
	bool bursty, in_bytes, orphan;

	struct psched_ratecfg rate;
	s64 room_ns; /* of the bucket */

	u64 peak_bps; /* of what the bucket lets pass; 0: none */
	u32 peak_burst_bytes;
	struct psched_ratecfg peak;
	s64 peak_room_ns;

	/* what is foreseen, in the order of coming */
	struct place head;   /* the first that is still here */
	struct place left;   /* the first that has not left, at queue.at_ns */
	struct place joined; /* the first that is not due, at queue.at_ns */
	struct place ahead;  /* the first that waits, at last_due_ns */
	struct place tail;   /* behind the last */
	struct chunk *spare;
	unsigned int refused_ahead; /* those that will be refused */
	struct place refused; /* the first of them, if there is one */

	struct bucket bucket;  /* at queue.at_ns */
	struct bucket foreseen; /* after the last packet */
	u64 last_due_ns, last_leave_ns;
	u32 waiting_packets, waiting_bytes; /* from ahead to tail */
	/* After a change: the queue's first packet leaves at the next look at it, a packet's coming included. */
	bool look_pending;

	struct rnd_state random;
	bool bad; /* the state of bursty losses */
	struct policer policer;
	struct recording *recording; /* NULL: none */

	struct Qdisc *sch;
	struct hrtimer timer;
	u64 next_ns;  /* when the next packet leaves or is dropped */
	u64 armed_ns; /* what the timer is set to */
	u64 now_ns;   /* of the last packet, timer or change */
	bool serving, dropping;
	bool veth;
};

/* ---- places ---- */

static __always_inline struct packet *at(const struct place *place)
{
	return &place->chunk->packets[place->index];
}

static __always_inline bool same(const struct place *one, const struct place *other)
{
	return one->index == other->index && one->chunk == other->chunk;
}

/* The tail's chunk always has room for one more, so a place never stands behind the end of a chunk. */
static __always_inline void advance(struct place *place)
{
	if (++place->index == CHUNK_PACKETS) {
		place->chunk = place->chunk->next;
		place->index = 0;
	}
}

static bool grow(struct link *link)
{
	struct chunk *chunk;

	if (link->tail.index + 1 < CHUNK_PACKETS)
		return true;
	chunk = link->spare ?: kmalloc(sizeof(*chunk), GFP_ATOMIC);
	if (!chunk)
		return false;
	link->spare = NULL;
	chunk->next = NULL;
	link->tail.chunk->next = chunk;
	return true;
}

/* ---- a recording ---- */

static __always_inline bool has_begun(const struct link *link)
{
	return unlikely(link->recording) && link->recording->begin_ns != NEVER;
}

/* Whether a table of that kind holds at an instant. */
static bool holds(const struct link *link, unsigned int kind, u64 instant)
{
	return has_begun(link) && link->recording->tables[kind].count && instant >= link->recording->begin_ns;
}

/* Whether packets leave by a table. */
static __always_inline bool is_lined(const struct link *link)
{
	return has_begun(link) && link->recording->lined;
}

static const struct recorded_table *line_of(const struct recording *recording)
{
	return &recording->tables[recording->opportunities ? LH_LINK_OPPORTUNITIES : LH_LINK_RATES];
}

static u32 needed_bytes(const struct link *link, const struct packet *packet)
{
	return packet->bytes - min(packet->bytes, link->recording->header_bytes);
}

/* When a packet leaves that is the line's first from `look` on. */
static u64 leave_recorded(const struct link *link, const struct packet *packet, u64 look)
{
	struct recording *recording = link->recording;
	u64 since = look > recording->begin_ns ? look - recording->begin_ns : 0;

	return recording->begin_ns + leave_at(line_of(recording), recording->opportunities, &recording->line, since,
					      needed_bytes(link, packet));
}

/* ---- the past: what has happened until an instant ---- */

static __always_inline void fill(const struct link *link, struct bucket *bucket, u64 now)
{
	s64 elapsed = min_t(s64, now - bucket->filled_ns, link->room_ns);

	bucket->tokens_ns = min(elapsed + bucket->tokens_ns, link->room_ns);
	if (unlikely(link->peak_bps))
		bucket->peak_ns = min(elapsed + bucket->peak_ns, link->peak_room_ns);
	bucket->filled_ns = now;
}

/* What a packet takes, once the bucket is filled. */
static __always_inline void spend(const struct link *link, struct bucket *bucket, u32 bytes)
{
	bucket->tokens_ns -= (s64)psched_l2t_ns(&link->rate, bytes);
	if (unlikely(link->peak_bps))
		bucket->peak_ns -= (s64)psched_l2t_ns(&link->peak, bytes);
}

/* How long a packet waits, once the bucket is filled; it waits no longer, as no bucket is smaller than a packet. */
static __always_inline s64 missing_ns(const struct link *link, const struct bucket *bucket, u32 bytes)
{
	s64 missing = (s64)psched_l2t_ns(&link->rate, bytes) - bucket->tokens_ns;

	if (unlikely(link->peak_bps))
		missing = max(missing, (s64)psched_l2t_ns(&link->peak, bytes) - bucket->peak_ns);
	return missing;
}

/* The first of those that are refused. */
static void drop_refused(struct link *link)
{
	struct packet *packet = at(&link->refused);
	struct sk_buff *skb = packet->skb;
	struct Qdisc *sch = link->sch;
	u32 packets = link->queue.packets;

	packet->skb = NULL;
	link->refused_ahead--;
	while (link->refused_ahead && (!at(&link->refused)->skb || at(&link->refused)->leave_ns != NEVER))
		advance(&link->refused);
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qstats_drop(sch);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	/* After a reader has settled this instant, the queue may have others that came behind it. */
	link->queue.packets = packet->met;
	link->dropping = true;
	kfree_skb(skb);
	link->dropping = false;
	link->queue.packets = packets;
}

static __always_inline void pass(struct link_queue *queue, u64 until)
{
	/* A timer of a real machine is late, and the queue was read meanwhile. */
	if (until <= queue->at_ns)
		return;
	queue->byte_ns += queue->bytes * (until - queue->at_ns);
	queue->at_ns = until;
}

/* A reader only counts; packets that are refused at its instant are dropped by the timer of that instant. */
static void settle_until(struct link *link, u64 now, bool dropping)
{
	struct link_queue *queue = &link->queue;

	for (;;) {
		struct packet *packet;

		/* The line takes a packet before another one joins those that wait. */
		if (!same(&link->left, &link->joined)) {
			packet = at(&link->left);
			if (packet->leave_ns == NEVER) {
				advance(&link->left);
				continue;
			}
			if (packet->leave_ns <= now &&
			    (same(&link->joined, &link->tail) || packet->leave_ns <= at(&link->joined)->due_ns)) {
				if (packet->leave_ns > packet->due_ns) {
					pass(queue, packet->leave_ns);
					queue->packets--;
					queue->bytes -= packet->bytes;
				}
				if (is_lined(link)) {
					link->recording->used_bytes += needed_bytes(link, packet);
				} else if (link->rate_bps) {
					fill(link, &link->bucket, packet->leave_ns);
					spend(link, &link->bucket, packet->bytes);
				}
				queue->tx_packets++;
				queue->tx_bytes += packet->bytes;
				advance(&link->left);
				continue;
			}
		}
		if (same(&link->joined, &link->tail))
			break;
		packet = at(&link->joined);
		if (packet->due_ns > now)
			break;
		if (packet->leave_ns == NEVER) {
			pass(queue, packet->due_ns);
			queue->refused++;
			packet->met = queue->packets;
			while (dropping && packet->skb)
				drop_refused(link);
		} else if (packet->leave_ns > packet->due_ns) {
			pass(queue, packet->due_ns);
			queue->packets++;
			queue->bytes += packet->bytes;
			queue->most_packets = max(queue->most_packets, queue->packets);
		}
		advance(&link->joined);
	}
	pass(queue, now);
	while (dropping && link->refused_ahead && at(&link->refused)->due_ns <= now)
		drop_refused(link);
}

static void settle(struct link_queue *queue, u64 now)
{
	struct link *link = container_of(queue, struct link, queue);

	/* The one that is just dropped is reported with the queue that it met. */
	if (!link->dropping)
		settle_until(link, now, false);
}

/* ---- the future: when a packet leaves ---- */

static __always_inline void move_ahead(struct link *link)
{
	const struct packet *packet = at(&link->ahead);

	if (packet->leave_ns != NEVER) {
		link->waiting_packets--;
		link->waiting_bytes -= packet->bytes;
	}
	advance(&link->ahead);
}

static __always_inline bool refuses(const struct link *link, u32 bytes)
{
	if (bytes > link->burst_bytes || (link->peak_bps && bytes > link->peak_burst_bytes))
		return true;
	if (link->in_bytes)
		return (u64)link->waiting_bytes + bytes > link->limit;
	return link->waiting_packets >= link->limit;
}

/* All in front of it are foreseen, and it is not refused. */
static __always_inline void foresee_leave(struct link *link, struct packet *packet)
{
	u64 look = max(packet->due_ns, link->last_leave_ns);
	s64 missing;

	if (is_lined(link)) {
		look = leave_recorded(link, packet, look);
		goto leaves;
	}
	fill(link, &link->foreseen, look);
	missing = missing_ns(link, &link->foreseen, packet->bytes);
	if (missing > 0) {
		look += missing;
		fill(link, &link->foreseen, look);
	}
	spend(link, &link->foreseen, packet->bytes);
leaves:
	packet->leave_ns = look;
	link->last_leave_ns = look;
	link->waiting_packets++;
	link->waiting_bytes += packet->bytes;
}

static __always_inline void foresee(struct link *link, const struct place *here)
{
	struct packet *packet = at(here);

	if (!link->rate_bps) {
		packet->leave_ns = packet->due_ns;
		return;
	}
	while (!same(&link->ahead, here) &&
	       (at(&link->ahead)->leave_ns <= packet->due_ns || at(&link->ahead)->leave_ns == NEVER))
		move_ahead(link);
	if (!refuses(link, packet->bytes)) {
		foresee_leave(link, packet);
		return;
	}
	packet->leave_ns = NEVER;
	if (!link->refused_ahead++)
		link->refused = *here;
}

/*
 * All that has not happened at queue.at_ns. What waits is not refused, also where the limit has become lower; the first of it
 * leaves at the next look at it, because a change fills the bucket and sets no timer.
 */
static void foresee_anew(struct link *link, u64 look)
{
	struct place here;

	link->refused_ahead = 0;
	link->waiting_packets = 0;
	link->waiting_bytes = 0;
	link->foreseen = link->bucket;
	link->last_leave_ns = look;
	link->ahead = link->left;
	for (here = link->left; !same(&here, &link->joined); advance(&here))
		if (at(&here)->skb)
			foresee_leave(link, at(&here));
	for (; !same(&here, &link->tail); advance(&here))
		foresee(link, &here);
}

/* Whether packets wait, at queue.at_ns. */
static bool waits(const struct link *link)
{
	return link->queue.packets > 0;
}

/* ---- the policer ---- */

static u64 policer_room(const struct policer *policer)
{
	return policer->burst_bytes * POLICE_PARTS_A_BYTE;
}

static void fill_policer(struct policer *policer, u64 now)
{
	u64 room = policer_room(policer) - policer->tokens, elapsed = now - policer->filled_ns;

	/* The product of a long time would not fit. */
	if (elapsed > div64_u64(room, policer->rate_bps))
		policer->tokens = policer_room(policer);
	else
		policer->tokens += elapsed * policer->rate_bps;
	policer->filled_ns = now;
}

static bool passes_policer(struct link *link, const struct sk_buff *skb)
{
	struct policer *policer = &link->policer;
	u32 bytes = qdisc_pkt_len(skb);
	bool passes;

	fill_policer(policer, link->now_ns);
	passes = policer->tokens >= bytes * POLICE_PARTS_A_BYTE;
	if (passes) {
		policer->tokens -= bytes * POLICE_PARTS_A_BYTE;
		policer->passed_packets++;
		policer->passed_bytes += bytes;
	} else {
		policer->dropped_packets++;
		policer->dropped_bytes += bytes;
	}
	if (link->queue.on_decision)
		link->queue.on_decision(link->queue.decision_reader, skb, passes, link->now_ns);
	return passes;
}

/* The first one begins with a full bucket; a later one keeps of the tokens what its bucket holds. */
static void set_policer(struct link *link, struct nlattr *const *options)
{
	struct policer *policer = &link->policer;
	bool first = !policer->rate_bps;

	if (!first)
		fill_policer(policer, link->now_ns);
	if (options[LH_LINK_POLICE_BPS])
		policer->rate_bps = nla_get_u64(options[LH_LINK_POLICE_BPS]);
	if (options[LH_LINK_POLICE_BURST_BYTES])
		policer->burst_bytes = nla_get_u32(options[LH_LINK_POLICE_BURST_BYTES]);
	policer->tokens = first ? policer_room(policer) : min(policer->tokens, policer_room(policer));
	policer->filled_ns = link->now_ns;
}

/* ---- packets come ---- */

/* Every packet counts from the begin on, so that the numbers of those that are lost stay those of the recording. */
static bool lose_recorded(struct link *link)
{
	struct recording *recording = link->recording;
	const struct recorded_table *lost = &recording->tables[LH_LINK_LOST_PACKETS];

	if (holds(link, LH_LINK_LOST_PACKETS, link->now_ns)) {
		u64 number = recording->coming++;

		while (row_start(lost, &recording->lost) < number && !is_last_row(lost, &recording->lost))
			next_row(lost, &recording->lost);
		if (row_start(lost, &recording->lost) == number)
			return true;
	}
	if (holds(link, LH_LINK_LOSSES, link->now_ns)) {
		u64 share = value_at(&recording->tables[LH_LINK_LOSSES], &recording->loss,
				     link->now_ns - recording->begin_ns);

		return share && share >= prandom_u32_state(&link->random);
	}
	return false;
}

static bool lose(struct link *link)
{
	const u32 *share = link->bursts;

	if (has_begun(link) && lose_recorded(link))
		return true;
	if (!link->bursty)
		return link->loss && link->loss >= prandom_u32_state(&link->random);
	if (link->bad) {
		if (prandom_u32_state(&link->random) < share[1])
			link->bad = false;
		return prandom_u32_state(&link->random) > share[2];
	}
	if (prandom_u32_state(&link->random) < share[0])
		link->bad = true;
	return prandom_u32_state(&link->random) < share[3];
}

static u64 draw_due(struct link *link, u64 now)
{
	s64 delay = link->delay_ns;

	if (holds(link, LH_LINK_DELAYS, now)) {
		struct recording *recording = link->recording;

		delay += value_at(&recording->tables[LH_LINK_DELAYS], &recording->delay, now - recording->begin_ns);
	}
	if (link->jitter_ns)
		delay += (s64)(prandom_u32_state(&link->random) % (2 * (u32)link->jitter_ns)) - (s64)link->jitter_ns;
	return max3((s64)now + delay, (s64)now, (s64)link->last_due_ns);
}

/* The instant from which a packet's delay counts. */
static u64 sent_at(const struct link *link)
{
	return link->queue.sent_ns && *link->queue.sent_ns ? *link->queue.sent_ns : link->now_ns;
}

/* The instant of the next packet that leaves or is dropped. All until queue.at_ns has happened. */
static u64 next_event(const struct link *link)
{
	u64 leave = same(&link->left, &link->tail) ? NEVER : at(&link->left)->leave_ns;
	u64 drop = link->refused_ahead ? at(&link->refused)->due_ns : NEVER;

	return min(leave, drop);
}

/* Whether the timer hands packets to the other end itself. */
static bool hands_over(const struct link *link)
{
	const struct net_device *dev = qdisc_dev(link->sch);

	return link->veth && link->sch->parent == TC_H_ROOT && dev->num_tx_queues == 1;
}

/* Whether what is next now is left to the timer: while timers are served it comes at this instant, else a nanosecond late. */
static bool waits_for_timer(const struct link *link)
{
	return hands_over(link) && link->timer.base->cpu_base->softirq_activated;
}

/*
 * The timer; also for what is next now, so that a packet arrives in the order of links however long its delay is. Where the
 * timer asks the device, or no timers are served, the device asks at once. While the timer is served, it is set at the end.
 */
static __always_inline void arm(struct link *link)
{
	if (link->next_ns == link->armed_ns || link->next_ns == NEVER || link->serving)
		return;
	if (link->next_ns <= link->now_ns && !waits_for_timer(link))
		return;
	link->armed_ns = link->next_ns;
	hrtimer_start(&link->timer, ns_to_ktime(link->next_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* After a change the coming of a packet is a look at the queue. */
static void look(struct link *link, u64 now)
{
	settle_until(link, now, true);
	link->look_pending = false;
	if (!waits(link))
		return;
	foresee_anew(link, now);
	link->next_ns = next_event(link);
}

static int enqueue_frame(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct link *link = qdisc_priv(sch);
	struct packet *packet;
	struct place here;
	u64 event;

	link->now_ns = ktime_get_ns();
	if (unlikely(link->look_pending))
		look(link, link->now_ns);
	if (unlikely(link->policer.rate_bps) && !passes_policer(link, skb)) {
		qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	}
	if (lose(link)) {
		link->queue.losses++;
		qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	}
	if (!grow(link))
		return qdisc_drop(skb, sch, to_free);
	if (link->orphan)
		skb_orphan_partial(skb);
	here = link->tail;
	packet = at(&here);
	packet->skb = skb;
	packet->bytes = qdisc_pkt_len(skb);
	packet->due_ns = draw_due(link, sent_at(link));
	link->last_due_ns = packet->due_ns;
	foresee(link, &here);
	advance(&link->tail);
	sch->q.qlen++;
	qdisc_qstats_backlog_inc(sch, skb);
	event = packet->leave_ns == NEVER ? packet->due_ns : packet->leave_ns;
	if (event < link->next_ns) {
		link->next_ns = event;
		arm(link);
	}
	return NET_XMIT_SUCCESS;
}

static int lh_link_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return skb_is_gso(skb) ? enqueue_segments(skb, sch, to_free, enqueue_frame) : enqueue_frame(skb, sch, to_free);
}

/* ---- packets leave ---- */

/*
 * The packets that leave next are not in the processor's cache: their control blocks are fetched first, then what these point
 * to. A function of prefetches alone is taken away unless it is inlined.
 */
static __always_inline void fetch_next(const struct link *link)
{
	const struct chunk *chunk = link->head.chunk;
	unsigned int near = link->head.index + 1, far = link->head.index + 3;

	/* Behind the tail of a chunk that is not full there is nothing, or what was there before. */
	if (far < CHUNK_PACKETS && !(chunk == link->tail.chunk && far >= link->tail.index)) {
		const char *far_skb = (const char *)chunk->packets[far].skb;
		const struct sk_buff *near_skb = chunk->packets[near].skb;

		prefetch(far_skb);
		prefetch(far_skb + 64);
		prefetch(far_skb + 128);
		prefetch(far_skb + 192);
		if (near_skb) {
			/* TCP's room for headers puts the first bytes of the Ethernet header into a line of their own. */
			prefetch(near_skb->data);
			prefetch(skb_network_header(near_skb));
			prefetch(skb_end_pointer(near_skb));
		}
	}
}

static __always_inline void leave_head(struct link *link)
{
	struct chunk *chunk = link->head.chunk;

	if (link->rate_bps && same(&link->head, &link->ahead))
		move_ahead(link);
	advance(&link->head);
	if (link->head.chunk != chunk) {
		kfree(link->spare);
		link->spare = chunk;
	}
}

/* One of those that have left. */
static __always_inline struct sk_buff *take(struct link *link)
{
	struct Qdisc *sch = link->sch;

	while (!same(&link->head, &link->left)) {
		const struct packet *packet = at(&link->head);
		u64 wait_ns = packet->leave_ns - packet->due_ns, leave_ns = packet->leave_ns;
		struct sk_buff *skb = packet->skb;

		leave_head(link);
		if (!skb)
			continue;
		fetch_next(link);
		link->queue.largest_frame = max(link->queue.largest_frame, skb->len);
		if (skb->protocol == htons(ETH_P_IP) && INET_ECN_is_ce(ip_hdr(skb)->tos))
			link->queue.marks++;
		if (link->queue.on_departure)
			link->queue.on_departure(link->queue.reader, skb, wait_ns, leave_ns);
		sch->q.qlen--;
		qdisc_qstats_backlog_dec(sch, skb);
		qdisc_bstats_update(sch, skb);
		return skb;
	}
	return NULL;
}

static struct sk_buff *lh_link_dequeue(struct Qdisc *sch)
{
	struct link *link = qdisc_priv(sch);
	struct sk_buff *skb;

	if (link->next_ns > link->now_ns || waits_for_timer(link))
		return NULL;
	settle_until(link, link->now_ns, true);
	link->look_pending = false;
	skb = take(link);
	if (same(&link->head, &link->left))
		link->next_ns = next_event(link);
	arm(link);
	return skb;
}

static void count_sent(struct net_device *dev, unsigned int bytes)
{
#ifdef LH_HAVE_STAT_TYPE
	if (dev->pcpu_stat_type == NETDEV_PCPU_STAT_TSTATS) {
		dev_sw_netstats_tx_add(dev, 1, bytes);
		return;
	}
#endif
	dev_lstats_add(dev, bytes);
}

/* What the veth driver does with a packet, at the end of the device's transmission. */
static void hand_over(struct net_device *dev, struct sk_buff *skb)
{
	struct net_device *peer = dev->netdev_ops->ndo_get_peer_dev(dev);
	unsigned int bytes = skb->len;

	if (dev_nit_active(dev))
		dev_queue_xmit_nit(skb, dev);
	skb_tx_timestamp(skb);
	skb_orphan(skb);
	if (unlikely(!peer)) {
		kfree_skb(skb);
		dev_core_stats_tx_dropped_inc(dev);
	} else if (likely(__dev_forward_skb(peer, skb) == NET_RX_SUCCESS)) {
		count_sent(dev, bytes);
		netif_receive_skb(skb);
	} else {
		dev_core_stats_tx_dropped_inc(dev);
	}
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct link *link = container_of(timer, struct link, timer);
	struct net_device *dev = qdisc_dev(link->sch);
	spinlock_t *root_lock = qdisc_lock(qdisc_root_bh(link->sch));
	struct sk_buff *skb, *leaving = NULL, **last = &leaving;
	enum hrtimer_restart again = HRTIMER_NORESTART;

	rcu_read_lock();
	spin_lock(root_lock);
	link->now_ns = ktime_get_ns();
	link->armed_ns = NEVER;
	if (!hands_over(link)) {
		__netif_schedule(qdisc_root_bh(link->sch));
		spin_unlock(root_lock);
		rcu_read_unlock();
		return HRTIMER_NORESTART;
	}
	link->serving = true;
	link->look_pending = false;
	settle_until(link, link->now_ns, true);
	while ((skb = take(link))) {
		*last = skb;
		last = &skb->next;
	}
	link->next_ns = next_event(link);
	spin_unlock(root_lock);
	while (leaving) {
		skb = leaving;
		leaving = skb->next;
		skb_mark_not_on_list(skb);
		hand_over(dev, skb);
	}
	spin_lock(root_lock);
	link->serving = false;
	if (link->next_ns != NEVER) {
		link->armed_ns = link->next_ns;
		hrtimer_set_expires(timer, ns_to_ktime(link->next_ns));
		again = HRTIMER_RESTART;
	}
	spin_unlock(root_lock);
	rcu_read_unlock();
	return again;
}

/* No packet, from now on. */
static void begin(struct link *link)
{
	link->left = link->tail;
	link->joined = link->tail;
	link->ahead = link->tail;
	link->refused_ahead = 0;
	link->waiting_packets = 0;
	link->waiting_bytes = 0;
	link->queue.packets = 0;
	link->queue.bytes = 0;
	link->last_due_ns = 0;
	link->last_leave_ns = 0;
	link->look_pending = false;
	link->now_ns = ktime_get_ns();
	link->queue.at_ns = link->now_ns;
	link->bucket = (struct bucket){
		.tokens_ns = link->room_ns,
		.peak_ns = link->peak_room_ns,
		.filled_ns = link->now_ns,
	};
	link->foreseen = link->bucket;
	link->armed_ns = NEVER;
	link->next_ns = NEVER;
}

static void lh_link_reset(struct Qdisc *sch)
{
	struct link *link = qdisc_priv(sch);

	/* A timer that is served now finds nothing left. */
	hrtimer_try_to_cancel(&link->timer);
	if (!link->head.chunk)
		return;
	while (!same(&link->head, &link->tail)) {
		struct sk_buff *skb = at(&link->head)->skb;
		struct chunk *chunk = link->head.chunk;

		if (skb)
			rtnl_kfree_skbs(skb, skb);
		advance(&link->head);
		if (link->head.chunk != chunk)
			kfree(chunk);
	}
	begin(link);
	qdisc_reset_queue(sch);
}

/* ---- netlink ---- */

static const struct nla_policy policy[LH_LINK_MAX + 1] = {
	[LH_LINK_DELAY_NS] = { .type = NLA_U64 },
	[LH_LINK_JITTER_NS] = { .type = NLA_U64 },
	[LH_LINK_LOSS] = { .type = NLA_U32 },
	[LH_LINK_BURSTS] = NLA_POLICY_EXACT_LEN(4 * sizeof(u32)),
	[LH_LINK_RATE_BPS] = { .type = NLA_U64 },
	[LH_LINK_BURST_BYTES] = { .type = NLA_U32 },
	[LH_LINK_LIMIT] = { .type = NLA_U32 },
	[LH_LINK_IN_BYTES] = NLA_POLICY_MAX(NLA_U8, 1),
	[LH_LINK_ORPHAN] = NLA_POLICY_MAX(NLA_U8, 1),
	[LH_LINK_SEED] = { .type = NLA_U64 },
	[LH_LINK_TABLE] = NLA_POLICY_EXACT_LEN(sizeof(struct lh_link_table)),
	[LH_LINK_ROWS] = { .type = NLA_BINARY },
	[LH_LINK_BEGIN_NS] = { .type = NLA_U64 },
	[LH_LINK_POLICE_BPS] = { .type = NLA_U64 },
	[LH_LINK_POLICE_BURST_BYTES] = { .type = NLA_U32 },
	[LH_LINK_PEAK_BPS] = { .type = NLA_U64 },
	[LH_LINK_PEAK_BURST_BYTES] = { .type = NLA_U32 },
};

/* Delays and instants are signed 64 bits of nanoseconds, a jitter 31, as in netem. */
#define LONGEST_DELAY_NS (S64_MAX / 4)

static int check(const struct link *link, struct nlattr *const *options, bool first, struct netlink_ext_ack *extack)
{
	u64 rate_bps = options[LH_LINK_RATE_BPS] ? nla_get_u64(options[LH_LINK_RATE_BPS]) : link->rate_bps;
	bool in_bytes = options[LH_LINK_IN_BYTES] ? nla_get_u8(options[LH_LINK_IN_BYTES]) : link->in_bytes;

	if ((options[LH_LINK_DELAY_NS] && nla_get_u64(options[LH_LINK_DELAY_NS]) > LONGEST_DELAY_NS) ||
	    (options[LH_LINK_JITTER_NS] && nla_get_u64(options[LH_LINK_JITTER_NS]) > S32_MAX)) {
		NL_SET_ERR_MSG_MOD(extack, "the delay must be below 73 years and the jitter below 2.1 s");
		return -EINVAL;
	}
	if (rate_bps && rate_bps < 8) {
		NL_SET_ERR_MSG_MOD(extack, "the rate must be at least 8 bit/s");
		return -EINVAL;
	}
	if ((options[LH_LINK_POLICE_BPS] && !nla_get_u64(options[LH_LINK_POLICE_BPS])) ||
	    (options[LH_LINK_POLICE_BURST_BYTES] &&
	     nla_get_u32(options[LH_LINK_POLICE_BURST_BYTES]) > LARGEST_POLICE_BURST)) {
		NL_SET_ERR_MSG_MOD(extack, "a policer has a rate, and a bucket of up to 1 GB");
		return -EINVAL;
	}
	if (!options[LH_LINK_POLICE_BPS] != !options[LH_LINK_POLICE_BURST_BYTES] ||
	    !options[LH_LINK_PEAK_BPS] != !options[LH_LINK_PEAK_BURST_BYTES]) {
		NL_SET_ERR_MSG_MOD(extack, "a policer and a peak have both a rate and a bucket");
		return -EINVAL;
	}
	if (options[LH_LINK_PEAK_BPS] && nla_get_u64(options[LH_LINK_PEAK_BPS]) <= rate_bps) {
		NL_SET_ERR_MSG_MOD(extack, "a peak is above the rate");
		return -EINVAL;
	}
	if (!first && (!rate_bps != !link->rate_bps || in_bytes != link->in_bytes)) {
		NL_SET_ERR_MSG_MOD(extack, "a queue cannot come or go, or count bytes instead of packets");
		return -EINVAL;
	}
	if (is_lined(link) && (rate_bps != link->rate_bps ||
			       (options[LH_LINK_BURST_BYTES] &&
				nla_get_u32(options[LH_LINK_BURST_BYTES]) != link->burst_bytes) ||
			       (options[LH_LINK_LIMIT] && nla_get_u32(options[LH_LINK_LIMIT]) != link->limit))) {
		NL_SET_ERR_MSG_MOD(extack, "the line and the queue of a recording cannot change");
		return -EINVAL;
	}
	return 0;
}

#define MOST_ROWS 16777216

static int begin_table(struct recording *recording, const struct lh_link_table *new, struct netlink_ext_ack *extack)
{
	struct recorded_table *table;
	bool rates = new->kind == LH_LINK_RATES;
	bool opportunities = new->kind == LH_LINK_OPPORTUNITIES;

	if (new->kind >= LH_LINK_KINDS || !new->rows || new->rows > MOST_ROWS || new->end > LONGEST_DELAY_NS) {
		NL_SET_ERR_MSG_MOD(extack, "a table has a known kind, 1 to 16777216 rows and less than 73 years");
		return -EINVAL;
	}
	if (recording->lined && (recording->opportunities ? rates : opportunities)) {
		NL_SET_ERR_MSG_MOD(extack, "a line has either rates or opportunities");
		return -EINVAL;
	}
	table = &recording->tables[new->kind];
	kvfree(table->rows);
	*table = (struct recorded_table){ .repeats = new->end, .end = new->end };
	recording->rows[new->kind] = 0;
	table->rows = kvmalloc_array(new->rows, sizeof(*table->rows), GFP_KERNEL);
	if (!table->rows)
		return -ENOMEM;
	recording->rows[new->kind] = new->rows;
	recording->newest = new->kind;
	if (rates || opportunities) {
		recording->lined = true;
		recording->opportunities = opportunities;
		recording->header_bytes = new->header_bytes;
	}
	return 0;
}

static u64 largest_value(unsigned int kind)
{
	if (kind == LH_LINK_RATES)
		return LARGEST_RATE;
	return kind == LH_LINK_DELAYS ? LONGEST_DELAY_NS : U32_MAX;
}

static int add_rows(struct recording *recording, const struct nlattr *rows, struct netlink_ext_ack *extack)
{
	struct recorded_table *table = &recording->tables[recording->newest];
	u32 count = nla_len(rows) / sizeof(struct lh_link_row), row;
	struct lh_link_row *all = (struct lh_link_row *)table->rows;
	/* Opportunities and lost packets need none at 0. */
	bool from_0 = recording->newest != LH_LINK_OPPORTUNITIES && recording->newest != LH_LINK_LOST_PACKETS;

	if (count * sizeof(struct lh_link_row) != nla_len(rows) ||
	    count > recording->rows[recording->newest] - table->count) {
		NL_SET_ERR_MSG_MOD(extack, "rows are whole, and at most as many as their table was given");
		return -EINVAL;
	}
	memcpy(all + table->count, nla_data(rows), count * sizeof(*all));
	for (row = table->count; row < table->count + count; row++) {
		bool in_order = row ? all[row].at > all[row - 1].at : !from_0 || !all[row].at;

		if (!in_order || all[row].at > LONGEST_DELAY_NS || (table->repeats && all[row].at >= table->end) ||
		    all[row].value > largest_value(recording->newest)) {
			NL_SET_ERR_MSG_MOD(extack, "rows rise from 0 to their end, with values of their kind");
			return -EINVAL;
		}
	}
	table->count += count;
	return 0;
}

static int begin_recording(const struct link *link, struct recording *recording, struct netlink_ext_ack *extack)
{
	unsigned int kind;

	for (kind = 0; kind < LH_LINK_KINDS; kind++)
		if (recording->tables[kind].count != recording->rows[kind]) {
			NL_SET_ERR_MSG_MOD(extack, "a table has fewer rows than it was given");
			return -EINVAL;
		}
	if (recording->lined && (!link->rate_bps || !carries(line_of(recording)))) {
		NL_SET_ERR_MSG_MOD(extack, "a recorded line carries something, and has a rate until it begins");
		return -EINVAL;
	}
	return 0;
}

/* Sleeps for memory, so without the lock: nothing reads a table before the recording begins. */
static int read_recording(struct link *link, struct nlattr *const *options, struct netlink_ext_ack *extack)
{
	struct recording *recording = link->recording;
	int error = 0;

	if (!options[LH_LINK_TABLE] && !options[LH_LINK_ROWS] && !options[LH_LINK_BEGIN_NS])
		return 0;
	if (!recording) {
		recording = kzalloc(sizeof(*recording), GFP_KERNEL);
		if (!recording)
			return -ENOMEM;
		recording->begin_ns = NEVER;
		link->recording = recording;
	}
	if (recording->begin_ns != NEVER) {
		NL_SET_ERR_MSG_MOD(extack, "the recording has begun");
		return -EBUSY;
	}
	if (options[LH_LINK_TABLE])
		error = begin_table(recording, nla_data(options[LH_LINK_TABLE]), extack);
	if (!error && options[LH_LINK_ROWS])
		error = add_rows(recording, options[LH_LINK_ROWS], extack);
	if (!error && options[LH_LINK_BEGIN_NS])
		error = begin_recording(link, recording, extack);
	return error;
}

/* Fills the second bucket, too. */
static void set_peak(struct link *link)
{
	u64 bytes_per_second = div_u64(link->peak_bps, 8);
	struct tc_ratespec peak = {
		.linklayer = TC_LINKLAYER_ETHERNET,
		.rate = min_t(u64, bytes_per_second, U32_MAX),
	};

	if (!link->peak_bps)
		return;
	psched_ratecfg_precompute(&link->peak, &peak, bytes_per_second);
	link->peak_room_ns = psched_l2t_ns(&link->peak, link->peak_burst_bytes);
	link->bucket.peak_ns = link->peak_room_ns;
}

/* As tbf does: a change of the rate, the bucket or the limit fills the bucket. */
static void set_line(struct link *link, struct nlattr *const *options, bool first)
{
	u64 rate_bps = options[LH_LINK_RATE_BPS] ? nla_get_u64(options[LH_LINK_RATE_BPS]) : link->rate_bps;
	u32 burst = options[LH_LINK_BURST_BYTES] ? nla_get_u32(options[LH_LINK_BURST_BYTES]) : link->burst_bytes;
	u32 limit = options[LH_LINK_LIMIT] ? nla_get_u32(options[LH_LINK_LIMIT]) : link->limit;
	u64 peak_bps = options[LH_LINK_PEAK_BPS] ? nla_get_u64(options[LH_LINK_PEAK_BPS]) : link->peak_bps;
	u32 peak_burst = options[LH_LINK_PEAK_BURST_BYTES] ? nla_get_u32(options[LH_LINK_PEAK_BURST_BYTES]) :
							     link->peak_burst_bytes;
	u64 bytes_per_second = div_u64(rate_bps, 8);
	struct tc_ratespec rate = {
		.linklayer = TC_LINKLAYER_ETHERNET,
		.rate = min_t(u64, bytes_per_second, U32_MAX),
	};
	u64 look = NEVER;

	if (!first && rate_bps == link->rate_bps && burst == link->burst_bytes && limit == link->limit &&
	    peak_bps == link->peak_bps && peak_burst == link->peak_burst_bytes)
		return;
	link->rate_bps = rate_bps;
	link->burst_bytes = burst;
	link->limit = limit;
	link->peak_bps = peak_bps;
	link->peak_burst_bytes = peak_burst;
	if (!rate_bps)
		return;
	psched_ratecfg_precompute(&link->rate, &rate, bytes_per_second);
	link->room_ns = psched_l2t_ns(&link->rate, burst);
	link->bucket.tokens_ns = link->room_ns;
	set_peak(link);
	if (first) {
		link->foreseen = link->bucket;
		return;
	}
	link->look_pending = waits(link);
	if (link->look_pending) {
		look = at(&link->left)->leave_ns;
		if (!same(&link->joined, &link->tail))
			look = min(look, at(&link->joined)->due_ns);
	}
	foresee_anew(link, link->look_pending ? look : 0);
	link->next_ns = next_event(link);
	arm(link);
}

static void set_options(struct Qdisc *sch, struct nlattr *const *options, bool first)
{
	struct link *link = qdisc_priv(sch);

	if (options[LH_LINK_DELAY_NS])
		link->delay_ns = nla_get_u64(options[LH_LINK_DELAY_NS]);
	if (options[LH_LINK_JITTER_NS])
		link->jitter_ns = nla_get_u64(options[LH_LINK_JITTER_NS]);
	if (options[LH_LINK_LOSS]) {
		link->loss = nla_get_u32(options[LH_LINK_LOSS]);
		link->bursty = false;
	}
	if (options[LH_LINK_BURSTS]) {
		memcpy(link->bursts, nla_data(options[LH_LINK_BURSTS]), sizeof(link->bursts));
		link->bursty = true;
		link->bad = false;
	}
	if (options[LH_LINK_IN_BYTES])
		link->in_bytes = nla_get_u8(options[LH_LINK_IN_BYTES]);
	if (options[LH_LINK_ORPHAN])
		link->orphan = nla_get_u8(options[LH_LINK_ORPHAN]);
	if (options[LH_LINK_SEED] || first) {
		link->seed = options[LH_LINK_SEED] ? nla_get_u64(options[LH_LINK_SEED]) : get_random_u64();
		prandom_seed_state(&link->random, link->seed);
	}
	set_line(link, options, first);
	if (options[LH_LINK_POLICE_BPS] || options[LH_LINK_POLICE_BURST_BYTES])
		set_policer(link, options);
	if (options[LH_LINK_BEGIN_NS]) {
		link->recording->begin_ns = nla_get_u64(options[LH_LINK_BEGIN_NS]);
		/* What waits leaves by the recording. */
		if (link->recording->lined)
			foresee_anew(link, 0);
		link->next_ns = next_event(link);
		arm(link);
	}
}

static int lh_link_change(struct Qdisc *sch, struct nlattr *option, struct netlink_ext_ack *extack)
{
	struct nlattr *options[LH_LINK_MAX + 1];
	struct link *link = qdisc_priv(sch);
	int error = nla_parse_nested_deprecated(options, LH_LINK_MAX, option, policy, extack);

	if (!error)
		error = check(link, options, false, extack);
	if (!error)
		error = read_recording(link, options, extack);
	if (error)
		return error;
	sch_tree_lock(sch);
	link->now_ns = ktime_get_ns();
	settle_until(link, link->now_ns, true);
	set_options(sch, options, false);
	sch_tree_unlock(sch);
	return 0;
}

static int lh_link_init(struct Qdisc *sch, struct nlattr *option, struct netlink_ext_ack *extack)
{
	struct nlattr *options[LH_LINK_MAX + 1] = {};
	struct net_device *dev = qdisc_dev(sch);
	struct link *link = qdisc_priv(sch);
	int error = 0;

	hrtimer_setup(&link->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT);
#ifdef LH_HAVE_TIMER_ORDER
	link->timer.node.order = INT_MIN + (dev->dev_addr[3] << 16 | dev->dev_addr[4] << 8 | dev->dev_addr[5]);
#endif
	link->sch = sch;
	if (option)
		error = nla_parse_nested_deprecated(options, LH_LINK_MAX, option, policy, extack);
	if (!error)
		error = check(link, options, true, extack);
	if (!error && (options[LH_LINK_TABLE] || options[LH_LINK_ROWS] || options[LH_LINK_BEGIN_NS])) {
		NL_SET_ERR_MSG_MOD(extack, "a recording is given to a link that exists");
		error = -EINVAL;
	}
	if (error)
		return error;
	link->head.chunk = kmalloc(sizeof(*link->head.chunk), GFP_KERNEL);
	if (!link->head.chunk)
		return -ENOMEM;
	link->head.chunk->next = NULL;
	link->tail = link->head;
	link->queue.settle = settle;
	link->veth = dev->rtnl_link_ops && !strcmp(dev->rtnl_link_ops->kind, "veth") &&
		     dev->netdev_ops->ndo_get_peer_dev;
	link->rate_bps = RATE_BPS;
	link->limit = dev->tx_queue_len ?: 1;
	link->burst_bytes = psched_mtu(dev);
	begin(link);
	set_options(sch, options, true);
	return 0;
}

static void lh_link_destroy(struct Qdisc *sch)
{
	struct link *link = qdisc_priv(sch);
	unsigned int kind;

	/* The kernel also destroys what it could not make. */
	if (!link->sch)
		return;
	hrtimer_cancel(&link->timer);
	kfree(link->spare);
	kfree(link->head.chunk);
	if (!link->recording)
		return;
	for (kind = 0; kind < LH_LINK_KINDS; kind++)
		kvfree(link->recording->tables[kind].rows);
	kfree(link->recording);
}

static bool put_recording(struct sk_buff *skb, const struct recording *recording)
{
	unsigned int kind;

	for (kind = 0; kind < LH_LINK_KINDS; kind++) {
		const struct lh_link_table table = {
			.kind = kind,
			.rows = recording->tables[kind].count,
			.end = recording->tables[kind].end,
			.header_bytes = kind <= LH_LINK_OPPORTUNITIES ? recording->header_bytes : 0,
		};

		if (table.rows && nla_put(skb, LH_LINK_TABLE, sizeof(table), &table))
			return false;
	}
	return recording->begin_ns == NEVER ||
	       !nla_put_u64_64bit(skb, LH_LINK_BEGIN_NS, recording->begin_ns, LH_LINK_PAD);
}

static int lh_link_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct link *link = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (nest && !nla_put_u64_64bit(skb, LH_LINK_DELAY_NS, link->delay_ns, LH_LINK_PAD) &&
	    !nla_put_u64_64bit(skb, LH_LINK_JITTER_NS, link->jitter_ns, LH_LINK_PAD) &&
	    !(link->bursty ? nla_put(skb, LH_LINK_BURSTS, sizeof(link->bursts), link->bursts) :
			     nla_put_u32(skb, LH_LINK_LOSS, link->loss)) &&
	    !nla_put_u64_64bit(skb, LH_LINK_RATE_BPS, link->rate_bps, LH_LINK_PAD) &&
	    !nla_put_u32(skb, LH_LINK_BURST_BYTES, link->burst_bytes) &&
	    !nla_put_u32(skb, LH_LINK_LIMIT, link->limit) &&
	    !nla_put_u8(skb, LH_LINK_IN_BYTES, link->in_bytes) && !nla_put_u8(skb, LH_LINK_ORPHAN, link->orphan) &&
	    !nla_put_u64_64bit(skb, LH_LINK_SEED, link->seed, LH_LINK_PAD) &&
	    (!link->recording || put_recording(skb, link->recording)) &&
	    (!link->peak_bps || (!nla_put_u64_64bit(skb, LH_LINK_PEAK_BPS, link->peak_bps, LH_LINK_PAD) &&
				 !nla_put_u32(skb, LH_LINK_PEAK_BURST_BYTES, link->peak_burst_bytes))) &&
	    (!link->policer.rate_bps ||
	     (!nla_put_u64_64bit(skb, LH_LINK_POLICE_BPS, link->policer.rate_bps, LH_LINK_PAD) &&
	      !nla_put_u32(skb, LH_LINK_POLICE_BURST_BYTES, link->policer.burst_bytes))))
		return nla_nest_end(skb, nest);
	nla_nest_cancel(skb, nest);
	return -EMSGSIZE;
}

static int lh_link_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct link *link = qdisc_priv(sch);
	struct lh_link_xstats stats;
	u64 now;

	sch_tree_lock(sch);
	now = ktime_get_ns();
	settle_until(link, now, false);
	stats = (struct lh_link_xstats){
		.losses = link->queue.losses,
		.refused = link->queue.refused,
		.tx_packets = link->queue.tx_packets,
		.tx_bytes = link->queue.tx_bytes,
		.queue_packets = link->queue.packets,
		.queue_bytes = link->queue.bytes,
		.flying_packets = sch->q.qlen - link->queue.packets,
		.passed_packets = link->policer.passed_packets,
		.passed_bytes = link->policer.passed_bytes,
		.policed_packets = link->policer.dropped_packets,
		.policed_bytes = link->policer.dropped_bytes,
	};
	if (is_lined(link) && now >= link->recording->begin_ns) {
		const struct recording *recording = link->recording;

		stats.offered_bytes = offered_until(line_of(recording), recording->opportunities,
						    now - recording->begin_ns);
		stats.used_bytes = recording->used_bytes;
	}
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(dump, &stats, sizeof(stats));
}

static struct Qdisc_ops lh_link_ops __read_mostly = {
	.id = LH_LINK_ID,
	.priv_size = sizeof(struct link),
	.enqueue = lh_link_enqueue,
	.dequeue = lh_link_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = lh_link_init,
	.reset = lh_link_reset,
	.destroy = lh_link_destroy,
	.change = lh_link_change,
	.dump = lh_link_dump,
	.dump_stats = lh_link_dump_stats,
	.owner = THIS_MODULE,
};

static int __init lh_link_init_module(void)
{
	return register_qdisc(&lh_link_ops);
}

static void __exit lh_link_exit_module(void)
{
	unregister_qdisc(&lh_link_ops);
}

module_init(lh_link_init_module);
module_exit(lh_link_exit_module);

MODULE_DESCRIPTION("A plain or recorded link: a policer, loss, delay, a drop-tail queue and a line in one qdisc");
MODULE_LICENSE("GPL");
