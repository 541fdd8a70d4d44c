/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue of an lh_link, as lh_trace reads it. It is the beginning of the qdisc's private data. lh_link keeps these counts
 * by arithmetic, so they are those of the last packet until `settle` brings them up to an instant.
 */
#ifndef LH_LINK_QUEUE_H
#define LH_LINK_QUEUE_H

#include <linux/types.h>
#include <net/pkt_sched.h>

#define LH_LINK_ID "lh_link"

struct link_queue {
	void (*settle)(struct link_queue *queue, u64 now);
	/* Called as a packet leaves, if set: how long it waited in the queue. */
	void (*on_departure)(void *reader, const struct sk_buff *skb, u64 wait_ns, u64 now);
	void *reader;
	/* Where lh_wire writes the instant at which another guest sent the packet that comes; NULL or 0 there: packets come as they are sent. */
	const u64 *sent_ns;
	/* Called as a packet comes to the policer, if set: whether it passes. */
	void (*on_decision)(void *reader, const struct sk_buff *skb, bool passes, u64 now);
	void *decision_reader;
	u64 at_ns;	 /* the instant that the counts are of */
	u64 byte_ns;	 /* integral of the bytes that wait */
	u64 tx_packets, tx_bytes;
	u32 packets, bytes;	 /* that wait */
	u32 most_packets;	 /* since the reader last set it */
	u32 losses, refused, marks, largest_frame;
};

static inline struct link_queue *link_queue_of(struct Qdisc *sch)
{
	return strcmp(sch->ops->id, LH_LINK_ID) ? NULL : qdisc_priv(sch);
}

#endif
