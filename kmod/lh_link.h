/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The interface of sch_lh_link: the attributes nested in TCA_OPTIONS, and the content of TCA_STATS_APP. Attributes and
 * statistics are only ever appended, so that a reader of fewer keeps working.
 */
#ifndef LH_LINK_H
#define LH_LINK_H

#include <linux/types.h>

enum {
	LH_LINK_UNSPEC,
	LH_LINK_PAD,
	LH_LINK_DELAY_NS,    /* u64 */
	LH_LINK_JITTER_NS,   /* u64: the delay is drawn from delay - jitter to delay + jitter, packets stay in order */
	LH_LINK_LOSS,	     /* u32: share of 2^32 */
	LH_LINK_BURSTS,	     /* four u32, shares of 2^32: the losses of netem's gemodel p, r, 1-h, 1-k in place of LOSS */
	LH_LINK_RATE_BPS,    /* u64: 0, no rate and no queue */
	LH_LINK_BURST_BYTES, /* u32: of the token bucket */
	LH_LINK_LIMIT,	     /* u32: of the packets or bytes that wait; the one on the line is not among them */
	LH_LINK_IN_BYTES,    /* u8: 1, the limit counts bytes; for life */
	LH_LINK_ORPHAN,	     /* u8: 1, packets leave the account of their socket as they come */
	LH_LINK_SEED,	     /* u64: of the draws; written again, it starts them again */
	LH_LINK_END
};

#define LH_LINK_MAX (LH_LINK_END - 1)

struct lh_link_xstats {
	__u64 losses;	   /* packets lost by chance */
	__u64 refused;	   /* packets that met a full queue */
	__u64 tx_packets;  /* that left */
	__u64 tx_bytes;
	__u64 queue_packets;	 /* that wait now */
	__u64 queue_bytes;
	__u64 flying_packets;	 /* in the delay now */
};

#endif
