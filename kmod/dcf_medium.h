/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The medium of sch_lh_dcf: how long frames are in the air, and who may send. sch_lh_dcf.c says what it models and how
 * its two locks go together; nothing here knows of netlink or of packets but for their lengths.
 *
 *	IDLE --slot of one--> SENDING --end of its data--> CLOSING --end of its ACK--> IDLE
 *	  \--slot of several------------------------------>/   (end of the collision)
 */
#ifndef DCF_MEDIUM_H
#define DCF_MEDIUM_H

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/spinlock.h>
#include <net/sch_generic.h>

#include "lh_dcf.h"

#define SLOT_NS ((u64)20 * NSEC_PER_USEC)
#define SIFS_NS ((u64)10 * NSEC_PER_USEC)
#define DIFS_NS ((u64)50 * NSEC_PER_USEC)
#define PLCP_US 192 /* long preamble 144, header 48, both at 1 Mbit/s */
#define RTS_BYTES 20
#define CTS_BYTES 14
#define ACK_BYTES 14
#define CW_MIN 31
#define CW_MAX 1023
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
	LEAVE, /* the head of the queue has arrived */
	GIVE_UP /* the head of the queue is lost */
};

/* What the instances of a medium agree on. */
struct terms {
	u32 number;
	u64 rate_bps; /* under the medium's lock: the one that may change */
	u64 basic_rate_bps;
	bool rts;
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
	u64 exchange_ns; /* of the frame in the air */
	u64 exchanges, collisions, busy_ns;
};

struct transmitter {
	struct Qdisc *sch;
	struct medium *medium;
	u32 overhead_bytes;
	u64 seed;
	u64 place; /* among those that joined the medium */

	/* contention */
	struct list_head list;
	struct rnd_state random;
	bool contending;
	bool colliding;
	enum verdict verdict;
	u32 bytes; /* of the frame it contends for, as in the air */
	u32 cw;
	u32 attempts;
	u64 slot; /* at which it transmits, counted from idle_ns + DIFS */
	u64 first_slot; /* from which it counts */
	struct lh_dcf_xstats stats; /* without the medium's */
};

/* ---- air time ---- */

static u64 air_ns(u32 bytes, u64 rate_bps)
{
	return (PLCP_US + DIV64_U64_ROUND_UP((u64)bytes * 8 * USEC_PER_SEC, rate_bps)) * NSEC_PER_USEC;
}

static u64 before_data_ns(const struct terms *terms)
{
	if (!terms->rts)
		return 0;
	return air_ns(RTS_BYTES, terms->basic_rate_bps) + SIFS_NS + air_ns(CTS_BYTES, terms->basic_rate_bps) + SIFS_NS;
}

static u64 after_data_ns(const struct terms *terms)
{
	return SIFS_NS + air_ns(ACK_BYTES, terms->basic_rate_bps);
}

/* What is lost when frames collide of which this is the longest. */
static u64 collision_ns(const struct terms *terms, u32 bytes)
{
	u64 first_ns = terms->rts ? air_ns(RTS_BYTES, terms->basic_rate_bps) : air_ns(bytes, terms->rate_bps);

	return first_ns + after_data_ns(terms);
}

/* ---- contention; the medium is locked ---- */

static void wait_until(struct medium *medium, u64 at_ns)
{
	medium->event_ns = at_ns;
	hrtimer_start(&medium->timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS_SOFT);
}

static void wait_for_first(struct medium *medium)
{
	struct transmitter *tx;

	medium->slot = NEVER;
	list_for_each_entry(tx, &medium->transmitters, list)
		if (tx->contending)
			medium->slot = min(medium->slot, tx->slot);
	if (medium->slot == NEVER)
		medium->event_ns = NEVER;
	else
		wait_until(medium, medium->idle_ns + DIFS_NS + medium->slot * SLOT_NS);
}

static void draw(struct transmitter *tx)
{
	u32 slots = prandom_u32_state(&tx->random) & tx->cw;

	tx->stats.backoff_slots += slots;
	tx->slot = tx->first_slot + slots;
}

static void contend(struct transmitter *tx, u32 bytes)
{
	struct medium *medium = tx->medium;
	u64 now_ns = ktime_get_ns();

	tx->contending = true;
	tx->bytes = bytes;
	tx->cw = CW_MIN;
	tx->attempts = 0;
	tx->first_slot = 0;
	if (medium->phase == MEDIUM_IDLE && now_ns > medium->idle_ns)
		tx->first_slot = DIV64_U64_ROUND_UP(now_ns - medium->idle_ns, SLOT_NS);
	draw(tx);
	if (medium->phase == MEDIUM_IDLE)
		wait_for_first(medium);
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

static void collide(struct medium *medium)
{
	struct transmitter *tx;
	u32 longest = 0;
	u64 lost_ns;

	list_for_each_entry(tx, &medium->transmitters, list)
		if (tx->colliding)
			longest = max(longest, tx->bytes);
	lost_ns = collision_ns(&medium->terms, longest);
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
		tx->cw = min_t(u32, 2 * tx->cw + 1, CW_MAX);
		draw(tx);
	}
	medium->phase = MEDIUM_CLOSING;
	wait_until(medium, medium->event_ns + lost_ns);
}

static void begin_exchange(struct medium *medium, struct transmitter *tx)
{
	u64 data_ns = before_data_ns(&medium->terms) + air_ns(tx->bytes, medium->terms.rate_bps);

	medium->sender = tx;
	medium->exchange_ns = data_ns + after_data_ns(&medium->terms);
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

static void arrive(struct medium *medium)
{
	struct transmitter *tx = medium->sender;

	medium->exchanges++;
	medium->busy_ns += medium->exchange_ns;
	if (tx) {
		tx->stats.frames++;
		tx->stats.exchange_ns += medium->exchange_ns;
		pronounce(tx, LEAVE);
	}
	medium->sender = NULL;
	medium->phase = MEDIUM_CLOSING;
	wait_until(medium, medium->event_ns + after_data_ns(&medium->terms));
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
