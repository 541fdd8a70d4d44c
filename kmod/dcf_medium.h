/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The medium of sch_lh_dcf: who may send, and what becomes of it. sch_lh_dcf.c says what it models and how its two locks
 * go together; nothing here knows of netlink or of packets but for their lengths.
 *
 *	IDLE --slot of one--> SENDING --end of its data--> CLOSING --end of its ACK--> IDLE
 *	  \--slot of several------------------------------>/   (end of the collision)
 */
#ifndef DCF_MEDIUM_H
#define DCF_MEDIUM_H

#include <linux/bits.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <net/sch_generic.h>

#include "dcf_air.h"
#include "lh_dcf.h"

/* Frames no longer than the RTS threshold count short retries. Without RTS, the threshold is above every frame. */
#define ATTEMPTS 7
#define NEVER U64_MAX

enum phase {
	MEDIUM_IDLE,	/* a station counts slots, or none has a frame */
	MEDIUM_SENDING, /* up to the end of the data */
	MEDIUM_CLOSING	/* up to the end of the ACK, or of a collision */
};

enum verdict {
	STAY,
	LEAVE, /* the burst was in the air, and has arrived but for the frames that failed */
	GIVE_UP /* the burst is lost */
};

struct transmitter;

struct medium {
	struct list_head list;
	unsigned int users;
	u64 joined; /* instances, ever */
	struct terms terms;

	spinlock_t lock; /* all of the below, and what transmitters have under "contention" */
	struct hrtimer timer;
	struct list_head transmitters;
	struct transmitter *sender; /* whose frame is in the air; NULL if it is gone */
	enum phase phase;
	u64 event_ns; /* what the timer waits for */
	u64 idle_ns; /* since when the channel is idle, or from when it will be */
	u64 slot; /* at which a station transmits, when idle */
	u64 exchange_ns; /* of the burst in the air */
	u64 answer_ns; /* of it, from the end of the data */
	u64 exchanges, collisions, busy_ns;
};

struct transmitter {
	struct Qdisc *sch;
	struct medium *medium;
	u32 overhead_bytes;
	u32 aggregate; /* most frames of a burst */
	bool one_receiver; /* all its packets go to the same one */
	u64 seed;
	u64 place; /* among those that joined the medium */

	/* the queue; the device's root lock */
	u8 receiver[ETH_ALEN]; /* of the burst */
	bool releasing; /* what has arrived of a burst leaves, packet by packet */
	struct sk_buff *passed; /* in front of the receiver's first packet; NULL: it is the head, or not sought yet */
	u32 held; /* packets that have arrived and wait for earlier ones */

	/* contention */
	struct list_head list;
	struct rnd_state random;
	struct rnd_state losses;
	u32 loss_2p32; /* of each frame that is in the air without a collision */
	bool contending;
	bool colliding;
	bool composed; /* its first attempt has begun: later ones repeat the burst */
	enum verdict verdict;
	u64 failed; /* frames of the burst, by their places, that have not arrived */
	u32 mpdu_bytes[WINDOW]; /* of the frames for the receiver, in their order */
	u32 ready; /* of these */
	u32 span; /* of the BlockAck's window that they and those held among them fill */
	struct burst burst;
	u32 cw;
	u32 next_cw; /* with which the next burst begins */
	u32 attempts;
	u64 slot; /* at which it transmits, counted from idle_ns + DIFS */
	u64 first_slot; /* from which it counts */
	struct lh_dcf_xstats stats; /* without the medium's */
};

/* ---- contention; the medium is locked ---- */

static void wait_until(struct medium *medium, u64 at_ns)
{
	medium->event_ns = at_ns;
	hrtimer_start(&medium->timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS_SOFT);
}

static void wait_for_first(struct medium *medium)
{
	const struct phy *phy = phy_of(&medium->terms);
	struct transmitter *tx;

	medium->slot = NEVER;
	list_for_each_entry(tx, &medium->transmitters, list)
		if (tx->contending)
			medium->slot = min(medium->slot, tx->slot);
	if (medium->slot == NEVER)
		medium->event_ns = NEVER;
	else
		wait_until(medium, medium->idle_ns + phy->difs_ns + medium->slot * phy->slot_ns);
}

static void draw(struct transmitter *tx)
{
	u32 slots = prandom_u32_state(&tx->random) & tx->cw;

	tx->stats.backoff_slots += slots;
	tx->slot = tx->first_slot + slots;
}

/* The frames that are ready contend. */
static void contend(struct transmitter *tx)
{
	struct medium *medium = tx->medium;
	u64 now_ns = ktime_get_ns();

	tx->contending = true;
	tx->composed = false;
	tx->cw = tx->next_cw;
	tx->next_cw = phy_of(&medium->terms)->cw_min;
	tx->attempts = 0;
	tx->first_slot = 0;
	if (medium->phase == MEDIUM_IDLE && now_ns > medium->idle_ns)
		tx->first_slot = DIV64_U64_ROUND_UP(now_ns - medium->idle_ns, phy_of(&medium->terms)->slot_ns);
	draw(tx);
	if (medium->phase == MEDIUM_IDLE)
		wait_for_first(medium);
}

/* A burst takes what is ready as its first attempt begins; after a change to a slower rate, less of it is within the limits. */
static void compose(struct transmitter *tx)
{
	tx->burst = compose_burst(tx->mpdu_bytes, min(tx->ready, tx->composed ? tx->burst.count : tx->aggregate),
				  &tx->medium->terms);
	tx->composed = true;
}

static void stop_contending(struct transmitter *tx)
{
	tx->contending = false;
	tx->verdict = STAY;
	if (tx->medium->sender == tx)
		tx->medium->sender = NULL;
}

static void pronounce(struct transmitter *tx, enum verdict verdict)
{
	tx->contending = false;
	tx->verdict = verdict;
	rcu_read_lock();
	__netif_schedule(qdisc_root(tx->sch));
	rcu_read_unlock();
}

static u32 doubled(const struct transmitter *tx)
{
	return min(2 * tx->cw + 1, phy_of(&tx->medium->terms)->cw_max);
}

static void collide(struct medium *medium)
{
	struct transmitter *tx;
	u64 longest_ns = 0;
	u64 lost_ns;

	list_for_each_entry(tx, &medium->transmitters, list)
		if (tx->colliding)
			longest_ns = max(longest_ns, tx->burst.air_ns);
	lost_ns = collision_ns(&medium->terms, longest_ns);
	medium->collisions++;
	medium->busy_ns += lost_ns;
	list_for_each_entry(tx, &medium->transmitters, list) {
		if (!tx->colliding)
			continue;
		tx->colliding = false;
		tx->stats.collisions++;
		tx->stats.collision_ns += lost_ns;
		if (++tx->attempts == ATTEMPTS) {
			tx->stats.retry_drops++;
			pronounce(tx, GIVE_UP);
			continue;
		}
		tx->stats.retries++;
		tx->cw = doubled(tx);
		draw(tx);
	}
	medium->phase = MEDIUM_CLOSING;
	wait_until(medium, medium->event_ns + lost_ns);
}

static void begin_exchange(struct medium *medium, struct transmitter *tx)
{
	u64 data_ns = before_data_ns(&medium->terms) + tx->burst.air_ns;

	medium->sender = tx;
	medium->answer_ns = after_data_ns(&medium->terms, tx->burst.count);
	medium->exchange_ns = data_ns + medium->answer_ns;
	medium->phase = MEDIUM_SENDING;
	wait_until(medium, medium->event_ns + data_ns);
}

/* The slot has come in which one or more transmit. */
static void transmit(struct medium *medium)
{
	struct transmitter *tx, *sender = NULL;
	unsigned int count = 0;

	list_for_each_entry(tx, &medium->transmitters, list) {
		tx->colliding = tx->contending && tx->slot == medium->slot;
		if (tx->colliding) {
			compose(tx);
			sender = tx;
			count++;
		}
	}
	if (!count) {
		/* The first station is gone. */
		wait_for_first(medium);
		return;
	}
	list_for_each_entry(tx, &medium->transmitters, list) {
		if (tx->contending && !tx->colliding)
			tx->slot -= max(medium->slot, tx->first_slot);
		tx->first_slot = 0;
	}
	if (count > 1) {
		collide(medium);
		return;
	}
	sender->colliding = false;
	begin_exchange(medium, sender);
}

/* Draws which frames of the burst fail; if none arrives there is no answer, and the next attempt waits as after a collision. */
static void lose_frames(struct transmitter *tx)
{
	u32 i, failed = 0;

	tx->failed = 0;
	for (i = 0; tx->loss_2p32 && i < tx->burst.count; i++) {
		if (prandom_u32_state(&tx->losses) < tx->loss_2p32) {
			tx->failed |= BIT_ULL(i);
			failed++;
		}
	}
	if (failed == tx->burst.count)
		tx->next_cw = doubled(tx);
	else if (tx->burst.count > 1)
		tx->stats.block_acks++;
	tx->stats.failed_mpdus += failed;
}

static void count_burst(struct transmitter *tx)
{
	tx->stats.mpdus += tx->burst.count;
	tx->stats.mpdu_bytes += tx->burst.mpdu_bytes;
	tx->stats.psdu_bytes += tx->burst.psdu_bytes;
	tx->stats.symbols += tx->burst.symbols;
	tx->stats.aggregates += tx->burst.count > 1;
}

static void arrive(struct medium *medium)
{
	struct transmitter *tx = medium->sender;

	medium->exchanges++;
	medium->busy_ns += medium->exchange_ns;
	if (tx) {
		tx->stats.frames++;
		tx->stats.exchange_ns += medium->exchange_ns;
		count_burst(tx);
		lose_frames(tx);
		pronounce(tx, LEAVE);
	}
	medium->sender = NULL;
	medium->phase = MEDIUM_CLOSING;
	wait_until(medium, medium->event_ns + medium->answer_ns);
}

/*
 * Each event counts from when it was due, not from when the timer was served: a late timer delays a frame, not the channel.
 */
static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct medium *medium = container_of(timer, struct medium, timer);

	spin_lock(&medium->lock);
	if (ktime_get_ns() < medium->event_ns)
		goto out; /* it was set anew while this waited for the lock, or no station waits any more */
	switch (medium->phase) {
	case MEDIUM_IDLE:
		transmit(medium);
		break;
	case MEDIUM_SENDING:
		arrive(medium);
		break;
	case MEDIUM_CLOSING:
		medium->phase = MEDIUM_IDLE;
		medium->idle_ns = medium->event_ns;
		wait_for_first(medium);
		break;
	}
out:
	spin_unlock(&medium->lock);
	return HRTIMER_NORESTART;
}

#endif
