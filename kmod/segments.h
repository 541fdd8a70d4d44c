/* SPDX-License-Identifier: GPL-2.0 */
/* A super-packet of a sender with offloads is many frames: each is put into the queue by itself. */
#ifndef SEGMENTS_H
#define SEGMENTS_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include LH_GSO_HEADER

static inline int enqueue_segments(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free,
				   int (*enqueue_frame)(struct sk_buff *, struct Qdisc *, struct sk_buff **))
{
	netdev_features_t features = netif_skb_features(skb);
	unsigned int whole = qdisc_pkt_len(skb), count = 0, bytes = 0;
	struct sk_buff *segment, *next, *segments;

	segments = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segments))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segments, segment, next) {
		unsigned int length = segment->len;

		skb_mark_not_on_list(segment);
		qdisc_skb_cb(segment)->pkt_len = length;
		if (enqueue_frame(segment, sch, to_free) == NET_XMIT_SUCCESS) {
			count++;
			bytes += length;
		}
	}
	if (!count) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	/* The qdiscs above count one packet of the whole length. */
	qdisc_tree_reduce_backlog(sch, 1 - (int)count, whole - bytes);
	consume_skb(skb);
	return NET_XMIT_SUCCESS;
}

#endif
