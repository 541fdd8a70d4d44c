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
 * lives as long as its instances. They agree on its rate, basic rate and use of RTS; a `change` of the rate through any of
 * them is the medium's.
 *
 * Access is that of the Distributed Coordination Function (IEEE 802.11-1999 clause 9.2) over the DSSS PHY (clause 15), long
 * preamble, without propagation delay and without any loss but collisions:
 *
 *	SLOT 20 us   SIFS 10 us   DIFS = SIFS + 2 SLOT = 50 us   CW 31, 63, ..., 1023   at most 7 attempts (dot11ShortRetryLimit)
 *
 *	air(n, rate) = 192 us + ceil(8 n / rate) in whole us (the unit of the PLCP's LENGTH field)
 *	exchange     = [air(20, basic) + SIFS + air(14, basic) + SIFS +]	the RTS and the CTS, where they are used
 *		       air(IP packet + overhead, rate) + SIFS + air(14, basic)	the data and its ACK
 *	collision    = air(20, basic), or the longest data frame's without RTS, + SIFS + air(14, basic)
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
 *	     leaves through the device at the end of its data, and waits in the queue until then.
 *
 * Locks: a device's root lock, under which enqueue and dequeue run, then the medium's. The timer takes the medium's alone,
 * leaves a verdict with the transmitter and schedules its device, whose dequeue carries the verdict out.
 */

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

static void contend_for_head(struct Qdisc *sch)
{
	struct transmitter *tx = qdisc_priv(sch);
	const struct sk_buff *head = qdisc_peek_head(sch);
	/* The Ethernet header stays on the ground; 802.11 has its own. */
	u32 bytes = max_t(int, head->len - qdisc_dev(sch)->hard_header_len, 0) + tx->overhead_bytes;

	spin_lock(&tx->medium->lock);
	contend(tx, bytes);
	spin_unlock(&tx->medium->lock);
}

static int enqueue_frame(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->q.qlen >= sch->limit)
		return qdisc_drop(skb, sch, to_free);
	qdisc_enqueue_tail(skb, sch);
	if (qdisc_peek_head(sch) == skb)
		contend_for_head(sch);
	return NET_XMIT_SUCCESS;
}

static int lh_dcf_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return skb_is_gso(skb) ? enqueue_segments(skb, sch, to_free, enqueue_frame) : enqueue_frame(skb, sch, to_free);
}

static enum verdict take_verdict(struct transmitter *tx)
{
	enum verdict verdict;

	spin_lock(&tx->medium->lock);
	verdict = tx->verdict;
	tx->verdict = STAY;
	spin_unlock(&tx->medium->lock);
	return verdict;
}

static struct sk_buff *lh_dcf_dequeue(struct Qdisc *sch)
{
	enum verdict verdict = take_verdict(qdisc_priv(sch));
	struct sk_buff *skb;

	if (verdict == STAY) {
		if (qdisc_peek_head(sch))
			qdisc_qstats_overlimit(sch);
		return NULL;
	}
	skb = __qdisc_dequeue_head(&sch->q);
	if (WARN_ON_ONCE(!skb))
		return NULL;
	qdisc_qstats_backlog_dec(sch, skb);
	if (qdisc_peek_head(sch))
		contend_for_head(sch);
	if (verdict == LEAVE) {
		qdisc_bstats_update(sch, skb);
		return skb;
	}
	qdisc_qstats_drop(sch);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	kfree_skb(skb);
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
	       one->rts == other->rts;
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
		NL_SET_ERR_MSG_MOD(extack, "others on the medium have another rate, basic rate or use of RTS");
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
};

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
	if (!terms->rate_bps || !terms->basic_rate_bps) {
		NL_SET_ERR_MSG_MOD(extack, "rate and basic rate must be above 0");
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
	    wanted.rts != medium->terms.rts) {
		NL_SET_ERR_MSG_MOD(extack, "medium, basic rate and use of RTS are for life");
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
	    !nla_put_u64_64bit(skb, LH_DCF_SEED, READ_ONCE(tx->seed), LH_DCF_PAD))
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
