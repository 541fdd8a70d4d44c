// SPDX-License-Identifier: GPL-2.0
/*
 * lh_dcf: one 802.11 channel that many devices share, each through a queue of its own.
 *
 *	station 1   [queue | backoff] --\
 *	station 2   [queue | backoff] ----- medium: one frame in the air ---> each leaves through its own device
 *	base station[queue | backoff] --/
 *
 * An instance is one transmitter: a drop-tail queue of `limit` packets at the root of a device, or below netem. Instances
 * that name the same medium number form one channel, wherever in this kernel they are: the number is global, over devices
 * and network namespaces, because the nodes of an emulated network are namespaces and have the air in common. The medium
 * lives as long as its instances. They agree on its PHY, rate, basic rate and use of RTS; a `change` of the rate through any
 * of them is the medium's.
 *
 * Access is that of the Distributed Coordination Function (IEEE 802.11-1999 clause 9.2) over the DSSS PHY (clause 15), long
 * preamble, or over the HT PHY of 802.11n (IEEE 802.11-2012 clause 20), without propagation delay and without any loss but
 * collisions and, with HT, the frames that the option LOSS makes fail:
 *
 *	DSSS	SLOT 20 us   SIFS 10 us   DIFS = SIFS + 2 SLOT = 50 us   CW 31, 63, ..., 1023
 *	HT	SLOT  9 us   SIFS 16 us   DIFS = SIFS + 2 SLOT = 34 us   CW 15, 31, ..., 1023
 *		at most 7 attempts (dot11ShortRetryLimit)
 *
 *	exchange     = [air(20, basic) + SIFS + air(14, basic) + SIFS +]	the RTS and the CTS, where they are used
 *		       air(IP packet + overhead, rate) + SIFS + air(14, basic)	the data and its ACK
 *	collision    = air(20, basic), or the longest data frame's without RTS, + SIFS + air(14, basic)
 *
 * dcf_air.h has the air time of each. With HT, a transmitter that wins the channel sends an A-MPDU: of its queue, in order, the
 * packets for the receiver of the first one, as many as its option AGGREGATE, 65535 bytes and 5.484 ms allow. A BlockAck of
 * 32 bytes answers it; one packet alone is sent as such and acknowledged. What failed is sent again, first; what arrived after
 * it is held in the queue until it has arrived, which stands for the receiver's reorder buffer. No frame is further than the
 * BlockAck's window of 64 from the first that has not arrived. A frame that failed 7 times is lost.
 *
 * The end of a collision is that of the sender's timeout and of everyone else's EIFS less DIFS, which are the same length.
 *
 * From the moment the channel falls idle, DIFS is waited for and then slots are counted. A transmitter with a frame draws a
 * number of slots from 0 to CW, also when it finds an idle channel; then it counts from the first slot that begins no
 * sooner than its frame. The lowest number transmits, the others keep what remains; equal ones collide, double their CW
 * and draw again. An acknowledged frame and one that is given up reset the CW.
 *
 *		 DIFS  slots	    exchange			     DIFS  slots   collision
 *	  --+-------+-+-+-+[RTS|CTS|data....|ACK]+-------+-+[RTS,RTS|timeout]+--
 *	    ^idle_ns	   ^begin	    ^the frame	 ^idle_ns
 *	     leaves through the device at the end of its data, and waits in the queue until then; an aggregate leaves as a whole.
 *
 * Locks: a device's root lock, under which enqueue and dequeue run, then the medium's. The timer takes the medium's alone,
 * leaves a verdict with the transmitter and schedules its device, whose dequeue carries the verdict out.
 */

#include <linux/etherdevice.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "dcf_medium.h"
#include "lh_dcf.h"
#include "segments.h"

/* Without options: medium 0 at 1 Mbit/s, with RTS, the device's own length of its queue, any seed. */
#define RATE_BPS 1000000
#define OVERHEAD_BYTES 28

static LIST_HEAD(media);
static DEFINE_MUTEX(media_lock); /* the list and its users */

/* ---- the queue; the device's root lock is held ---- */

/* What becomes of a packet that waits. */
enum fate {
	WAITS,
	HAS_ARRIVED, /* it leaves as soon as all earlier ones for its receiver have left */
	IS_LOST
};

struct packet {
	u8 fate;
	u8 failures;
};

static struct packet *packet_of(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct packet) > QDISC_CB_PRIV_LEN);
	return (struct packet *)qdisc_skb_cb(skb)->data;
}

static u32 mpdu_bytes_of(const struct sk_buff *skb, struct Qdisc *sch)
{
	const struct transmitter *tx = qdisc_priv(sch);

	/* The Ethernet header stays on the ground; 802.11 has its own. */
	return max_t(int, skb->len - qdisc_dev(sch)->hard_header_len, 0) + tx->overhead_bytes;
}

/* A frame begins with the address of its receiver. */
static bool is_for_receiver(const struct transmitter *tx, const struct sk_buff *skb)
{
	return tx->one_receiver ||
	       (skb_headlen(skb) >= ETH_ALEN && ether_addr_equal_unaligned(skb->data, tx->receiver));
}

static u32 window_of(const struct transmitter *tx)
{
	return tx->medium->terms.ht ? WINDOW : 1;
}

static void set_receiver(struct transmitter *tx, const struct sk_buff *head)
{
	if (skb_headlen(head) >= ETH_ALEN)
		memcpy(tx->receiver, head->data, ETH_ALEN);
	else
		eth_zero_addr(tx->receiver);
}

static void contend_for_head(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);
	const struct sk_buff *head = qdisc_peek_head(sch), *skb;
	u32 window = window_of(tx);

	if (!tx->one_receiver)
		set_receiver(tx, head);
	spin_lock(&tx->medium->lock);
	tx->mpdu_bytes[0] = mpdu_bytes_of(head, sch);
	tx->ready = 1;
	tx->span = 1;
	for (skb = head->next; skb && tx->span < window; skb = skb->next) {
		if (!is_for_receiver(tx, skb))
			continue;
		tx->span++;
		if (packet_of(skb)->fate == WAITS)
			tx->mpdu_bytes[tx->ready++] = mpdu_bytes_of(skb, sch);
	}
	contend(tx);
	spin_unlock(&tx->medium->lock);
}

/* A packet that comes while its receiver's burst waits for the channel may be part of it. */
static void join_burst(struct Qdisc *sch, const struct sk_buff *skb)
{
	struct transmitter *tx = qdisc_priv(sch);
	u32 window = window_of(tx);

	if (window == 1 || !is_for_receiver(tx, skb))
		return;
	spin_lock(&tx->medium->lock);
	if (tx->contending && !tx->composed && tx->span < window) {
		tx->span++;
		tx->mpdu_bytes[tx->ready++] = mpdu_bytes_of(skb, sch);
	}
	spin_unlock(&tx->medium->lock);
}

static int enqueue_frame(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->q.qlen >= sch->limit)
		return qdisc_drop(skb, sch, to_free);
	*packet_of(skb) = (struct packet){ .fate = WAITS };
	qdisc_enqueue_tail(skb, sch);
	if (qdisc_peek_head(sch) == skb)
		contend_for_head(sch);
	else
		join_burst(sch, skb);
	return NET_XMIT_SUCCESS;
}

static int lh_dcf_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return skb_is_gso(skb) ? enqueue_segments(skb, sch, to_free, enqueue_frame) : enqueue_frame(skb, sch, to_free);
}

/* Gives each packet of the burst its fate. */
static void judge_packets(struct Qdisc *sch, enum verdict verdict, u32 count, u64 failed)
{
	struct transmitter *tx = qdisc_priv(sch);
	struct sk_buff *skb;
	u32 i = 0;

	for (skb = sch->q.head; skb && i < count; skb = skb->next) {
		struct packet *packet = packet_of(skb);

		if (packet->fate != WAITS || !is_for_receiver(tx, skb))
			continue;
		if (verdict == GIVE_UP) {
			packet->fate = IS_LOST;
		} else if (!(failed & BIT_ULL(i))) {
			packet->fate = HAS_ARRIVED;
			tx->held++;
		} else if (++packet->failures == ATTEMPTS) {
			packet->fate = IS_LOST;
			tx->stats.mpdu_drops++;
		}
		i++;
	}
}

/* The verdict on the burst that was in the air, if there is one. */
static enum verdict take_verdict(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);
	enum verdict verdict;

	spin_lock(&tx->medium->lock);
	verdict = tx->verdict;
	tx->verdict = STAY;
	if (verdict != STAY)
		judge_packets(sch, verdict, tx->burst.count, tx->failed);
	spin_unlock(&tx->medium->lock);
	return verdict;
}

/* The receiver's first packet, if it no longer waits. */
static struct sk_buff *find_released(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);
	struct sk_buff *skb = tx->passed ? tx->passed->next : sch->q.head;

	while (skb && !is_for_receiver(tx, skb)) {
		tx->passed = skb;
		skb = skb->next;
	}
	return skb && packet_of(skb)->fate != WAITS ? skb : NULL;
}

static void take_out(struct Qdisc *sch, struct sk_buff *skb)
{
	struct transmitter *tx = qdisc_priv(sch);

	if (tx->passed)
		tx->passed->next = skb->next;
	else
		sch->q.head = skb->next;
	if (!skb->next)
		sch->q.tail = tx->passed;
	skb_mark_not_on_list(skb);
	sch->q.qlen--;
	qdisc_qstats_backlog_dec(sch, skb);
}

static void end_release(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);

	tx->releasing = false;
	if (qdisc_peek_head(sch))
		contend_for_head(sch);
}

static struct sk_buff *release_next(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);
	struct sk_buff *skb = find_released(sch);

	if (!skb) {
		end_release(sch);
		return NULL;
	}
	take_out(sch, skb);
	if (packet_of(skb)->fate == HAS_ARRIVED)
		tx->held--;
	if (!find_released(sch))
		end_release(sch);
	return skb;
}

static struct sk_buff *lh_dcf_dequeue(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);

	if (!tx->releasing) {
		if (take_verdict(sch) == STAY) {
			if (qdisc_peek_head(sch))
				qdisc_qstats_overlimit(sch);
			return NULL;
		}
		tx->releasing = true;
		tx->passed = NULL;
	}
	while (tx->releasing) {
		struct sk_buff *skb = release_next(sch);

		if (skb && packet_of(skb)->fate == HAS_ARRIVED) {
			qdisc_bstats_update(sch, skb);
			return skb;
		}
		if (skb) {
			qdisc_qstats_drop(sch);
			qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
			kfree_skb(skb);
		}
	}
	return NULL;
}

static void lh_dcf_reset(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);

	if (tx->medium) {
		spin_lock_bh(&tx->medium->lock);
		stop_contending(tx);
		spin_unlock_bh(&tx->medium->lock);
	}
	tx->releasing = false;
	tx->passed = NULL;
	tx->held = 0;
	qdisc_reset_queue(sch);
}

/* ---- media ---- */

static struct medium *find_medium(u32 number)
{
	struct medium *medium;

	list_for_each_entry(medium, &media, list)
		if (medium->terms.number == number)
			return medium;
	return NULL;
}

static bool same_terms(const struct terms *one, const struct terms *other)
{
	return one->rate_bps == other->rate_bps && one->basic_rate_bps == other->basic_rate_bps &&
	       one->rts == other->rts && one->ht == other->ht;
}

static struct medium *new_medium(const struct terms *wanted)
{
	struct medium *medium = kzalloc(sizeof(*medium), GFP_KERNEL);

	if (!medium)
		return NULL;
	medium->terms = *wanted;
	spin_lock_init(&medium->lock);
	hrtimer_setup(&medium->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	INIT_LIST_HEAD(&medium->transmitters);
	medium->phase = MEDIUM_IDLE;
	medium->event_ns = NEVER;
	medium->idle_ns = ktime_get_ns();
	list_add(&medium->list, &media);
	return medium;
}

static int join_medium(struct transmitter *tx, const struct terms *wanted, struct netlink_ext_ack *extack)
{
	struct medium *medium;
	int error = 0;

	mutex_lock(&media_lock);
	medium = find_medium(wanted->number);
	if (!medium) {
		medium = new_medium(wanted);
		error = medium ? 0 : -ENOMEM;
	} else if (!same_terms(&medium->terms, wanted)) {
		NL_SET_ERR_MSG_MOD(extack, "others on the medium have another rate, basic rate, use of RTS or PHY");
		error = -EINVAL;
	}
	if (!error) {
		medium->users++;
		tx->medium = medium;
		tx->place = medium->joined++;
		spin_lock_bh(&medium->lock);
		/* In the order of coming, which is that of all that is done to all. */
		list_add_tail(&tx->list, &medium->transmitters);
		spin_unlock_bh(&medium->lock);
	}
	mutex_unlock(&media_lock);
	return error;
}

static void leave_medium(struct transmitter *tx)
{
	struct medium *medium = tx->medium;

	mutex_lock(&media_lock);
	spin_lock_bh(&medium->lock);
	stop_contending(tx);
	list_del(&tx->list);
	spin_unlock_bh(&medium->lock);
	tx->medium = NULL;
	if (!--medium->users) {
		list_del(&medium->list);
		hrtimer_cancel(&medium->timer);
		kfree(medium);
	}
	mutex_unlock(&media_lock);
}

/* ---- netlink ---- */

static const struct nla_policy policy[LH_DCF_MAX + 1] = {
	[LH_DCF_MEDIUM] = { .type = NLA_U32 },
	[LH_DCF_RATE_BPS] = { .type = NLA_U64 },
	[LH_DCF_BASIC_RATE_BPS] = { .type = NLA_U64 },
	[LH_DCF_LIMIT] = { .type = NLA_U32 },
	[LH_DCF_OVERHEAD_BYTES] = NLA_POLICY_MAX(NLA_U32, 1000),
	[LH_DCF_RTS] = NLA_POLICY_MAX(NLA_U8, 1),
	[LH_DCF_SEED] = { .type = NLA_U64 },
	[LH_DCF_HT] = NLA_POLICY_MAX(NLA_U8, 1),
	[LH_DCF_AGGREGATE] = NLA_POLICY_RANGE(NLA_U8, 1, WINDOW),
	[LH_DCF_ONE_RECEIVER] = NLA_POLICY_MAX(NLA_U8, 1),
	[LH_DCF_LOSS] = { .type = NLA_U32 },
};

/* A symbol has a whole number of bits. */
static bool is_ofdm_rate(u64 rate_bps)
{
	u32 rest;

	div_u64_rem(rate_bps, SYMBOLS_PER_S, &rest);
	return !rest && rate_bps <= (u64)STREAM_BPS * MOST_STREAMS;
}

/* What is written replaces what `terms` holds. As for every other kind of queue, the nest needs no flag that it is one. */
static int parse(struct nlattr **options, const struct nlattr *option, struct terms *terms,
		 struct netlink_ext_ack *extack)
{
	int error = nla_parse_nested_deprecated(options, LH_DCF_MAX, option, policy, extack);

	if (error)
		return error;
	if (options[LH_DCF_MEDIUM])
		terms->number = nla_get_u32(options[LH_DCF_MEDIUM]);
	if (options[LH_DCF_RATE_BPS])
		terms->rate_bps = nla_get_u64(options[LH_DCF_RATE_BPS]);
	if (options[LH_DCF_BASIC_RATE_BPS])
		terms->basic_rate_bps = nla_get_u64(options[LH_DCF_BASIC_RATE_BPS]);
	if (options[LH_DCF_RTS])
		terms->rts = nla_get_u8(options[LH_DCF_RTS]);
	if (options[LH_DCF_HT])
		terms->ht = nla_get_u8(options[LH_DCF_HT]);
	if (!terms->rate_bps || !terms->basic_rate_bps) {
		NL_SET_ERR_MSG_MOD(extack, "rate and basic rate must be above 0");
		return -EINVAL;
	}
	if (terms->ht && !(is_ofdm_rate(terms->rate_bps) && is_ofdm_rate(terms->basic_rate_bps))) {
		NL_SET_ERR_MSG_MOD(extack, "with HT, rates are multiples of 250 kbit/s up to 540 Mbit/s");
		return -EINVAL;
	}
	if (!terms->ht && ((options[LH_DCF_AGGREGATE] && nla_get_u8(options[LH_DCF_AGGREGATE]) > 1) ||
			   (options[LH_DCF_LOSS] && nla_get_u32(options[LH_DCF_LOSS])))) {
		NL_SET_ERR_MSG_MOD(extack, "aggregates and losses of frames need HT");
		return -EINVAL;
	}
	return 0;
}

/* Each instance of a medium has a stream of its own, also where seeds are equal: equal draws would collide for ever. */
static void sow(struct transmitter *tx, u64 seed)
{
	spin_lock_bh(&tx->medium->lock);
	tx->seed = seed;
	prandom_seed_state(&tx->random, seed + tx->place * GOLDEN_RATIO_64);
	prandom_seed_state(&tx->losses, ~(seed + tx->place * GOLDEN_RATIO_64));
	spin_unlock_bh(&tx->medium->lock);
}

static void set_own_options(struct Qdisc *sch, struct nlattr *const *options)
{
	struct transmitter *tx = qdisc_priv(sch);

	sch_tree_lock(sch);
	if (options[LH_DCF_LIMIT])
		sch->limit = nla_get_u32(options[LH_DCF_LIMIT]);
	if (options[LH_DCF_OVERHEAD_BYTES])
		tx->overhead_bytes = nla_get_u32(options[LH_DCF_OVERHEAD_BYTES]);
	/* The same seed again would repeat the draws. */
	if (options[LH_DCF_SEED] && nla_get_u64(options[LH_DCF_SEED]) != tx->seed)
		sow(tx, nla_get_u64(options[LH_DCF_SEED]));
	spin_lock_bh(&tx->medium->lock);
	if (options[LH_DCF_AGGREGATE])
		tx->aggregate = nla_get_u8(options[LH_DCF_AGGREGATE]);
	if (options[LH_DCF_LOSS])
		tx->loss_2p32 = nla_get_u32(options[LH_DCF_LOSS]);
	spin_unlock_bh(&tx->medium->lock);
	sch_tree_unlock(sch);
}

static int lh_dcf_init(struct Qdisc *sch, struct nlattr *option, struct netlink_ext_ack *extack)
{
	struct transmitter *tx = qdisc_priv(sch);
	struct nlattr *options[LH_DCF_MAX + 1] = {};
	struct terms wanted = { .rate_bps = RATE_BPS, .basic_rate_bps = RATE_BPS, .rts = true };
	int error = 0;

	if (option)
		error = parse(options, option, &wanted, extack);
	if (!error)
		error = join_medium(tx, &wanted, extack);
	if (error)
		return error;
	tx->sch = sch;
	tx->overhead_bytes = OVERHEAD_BYTES;
	tx->aggregate = 1;
	/* Without aggregates it makes no difference which packets belong together. */
	tx->one_receiver = !wanted.ht || (options[LH_DCF_ONE_RECEIVER] && nla_get_u8(options[LH_DCF_ONE_RECEIVER]));
	tx->next_cw = phy_of(&wanted)->cw_min;
	sch->limit = qdisc_dev(sch)->tx_queue_len ?: 1;
	sow(tx, options[LH_DCF_SEED] ? nla_get_u64(options[LH_DCF_SEED]) : get_random_u64());
	set_own_options(sch, options);
	return 0;
}

static int lh_dcf_change(struct Qdisc *sch, struct nlattr *option, struct netlink_ext_ack *extack)
{
	struct transmitter *tx = qdisc_priv(sch);
	struct nlattr *options[LH_DCF_MAX + 1];
	struct medium *medium = tx->medium;
	struct terms wanted = medium->terms;
	int error;

	error = parse(options, option, &wanted, extack);
	if (error)
		return error;
	if (wanted.number != medium->terms.number || wanted.basic_rate_bps != medium->terms.basic_rate_bps ||
	    wanted.rts != medium->terms.rts || wanted.ht != medium->terms.ht) {
		NL_SET_ERR_MSG_MOD(extack, "medium, basic rate, use of RTS and PHY are for life");
		return -EINVAL;
	}
	if (wanted.ht && options[LH_DCF_ONE_RECEIVER] && nla_get_u8(options[LH_DCF_ONE_RECEIVER]) != tx->one_receiver) {
		NL_SET_ERR_MSG_MOD(extack, "one receiver or several is for life");
		return -EINVAL;
	}
	spin_lock_bh(&medium->lock);
	medium->terms.rate_bps = wanted.rate_bps;
	spin_unlock_bh(&medium->lock);
	set_own_options(sch, options);
	return 0;
}

static void lh_dcf_destroy(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);

	/* The kernel also destroys what it could not make. */
	if (tx->medium)
		leave_medium(tx);
}

static int lh_dcf_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct transmitter *tx = qdisc_priv(sch);
	const struct medium *medium = tx->medium;
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (nest && !nla_put_u32(skb, LH_DCF_MEDIUM, medium->terms.number) &&
	    !nla_put_u64_64bit(skb, LH_DCF_RATE_BPS, READ_ONCE(medium->terms.rate_bps), LH_DCF_PAD) &&
	    !nla_put_u64_64bit(skb, LH_DCF_BASIC_RATE_BPS, medium->terms.basic_rate_bps, LH_DCF_PAD) &&
	    !nla_put_u32(skb, LH_DCF_LIMIT, READ_ONCE(sch->limit)) &&
	    !nla_put_u32(skb, LH_DCF_OVERHEAD_BYTES, READ_ONCE(tx->overhead_bytes)) &&
	    !nla_put_u8(skb, LH_DCF_RTS, medium->terms.rts) &&
	    !nla_put_u64_64bit(skb, LH_DCF_SEED, READ_ONCE(tx->seed), LH_DCF_PAD) &&
	    !nla_put_u8(skb, LH_DCF_HT, medium->terms.ht) &&
	    !nla_put_u8(skb, LH_DCF_AGGREGATE, READ_ONCE(tx->aggregate)) &&
	    !nla_put_u8(skb, LH_DCF_ONE_RECEIVER, tx->one_receiver) &&
	    !nla_put_u32(skb, LH_DCF_LOSS, READ_ONCE(tx->loss_2p32)))
		return nla_nest_end(skb, nest);
	nla_nest_cancel(skb, nest);
	return -EMSGSIZE;
}

static int lh_dcf_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct transmitter *tx = qdisc_priv(sch);
	struct medium *medium = tx->medium;
	struct lh_dcf_xstats stats;

	spin_lock_bh(&medium->lock);
	stats = tx->stats;
	stats.medium_exchanges = medium->exchanges;
	stats.medium_collisions = medium->collisions;
	stats.medium_busy_ns = medium->busy_ns;
	stats.held = tx->held;
	spin_unlock_bh(&medium->lock);
	return gnet_stats_copy_app(dump, &stats, sizeof(stats));
}

static struct Qdisc_ops lh_dcf_ops __read_mostly = {
	.id = "lh_dcf",
	.priv_size = sizeof(struct transmitter),
	.enqueue = lh_dcf_enqueue,
	.dequeue = lh_dcf_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = lh_dcf_init,
	.change = lh_dcf_change,
	.reset = lh_dcf_reset,
	.destroy = lh_dcf_destroy,
	.dump = lh_dcf_dump,
	.dump_stats = lh_dcf_dump_stats,
	.owner = THIS_MODULE,
};

static int __init lh_dcf_register(void)
{
	return register_qdisc(&lh_dcf_ops);
}

static void __exit lh_dcf_unregister(void)
{
	unregister_qdisc(&lh_dcf_ops);
}

module_init(lh_dcf_register);
module_exit(lh_dcf_unregister);

/* By this name the kernel loads a kind of queue that it does not know, since 6.9; before, by that of the file. */
MODULE_ALIAS("net-sch-lh_dcf");
MODULE_DESCRIPTION("A shared 802.11 channel: DCF contention among the queues of several devices");
MODULE_LICENSE("GPL");
