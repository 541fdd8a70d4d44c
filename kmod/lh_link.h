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
	LH_LINK_TABLE,	     /* struct lh_link_table: a table of a recording begins, in place of one of its kind */
	LH_LINK_ROWS,	     /* struct lh_link_row[]: more rows of the table that was begun last */
	LH_LINK_BEGIN_NS,    /* u64: where 0 of the tables stands on the monotonic clock; they hold from then on, and none can be begun any more */
	LH_LINK_POLICE_BPS,  /* u64: a policer in front of all: its rate; 0, none */
	LH_LINK_POLICE_BURST_BYTES, /* u32: the bytes that its bucket holds, up to 10^9 */
	LH_LINK_PEAK_BPS,    /* u64: above RATE_BPS, the rate at which the bucket's bytes leave; 0, at once */
	LH_LINK_PEAK_BURST_BYTES, /* u32: of the token bucket of that rate */
	LH_LINK_END
};

#define LH_LINK_MAX (LH_LINK_END - 1)

/* recording.h says what the rows of each kind mean. A line has one of the first two. */
enum {
	LH_LINK_RATES,
	LH_LINK_OPPORTUNITIES,
	LH_LINK_DELAYS,
	LH_LINK_LOSSES,
	LH_LINK_LOST_PACKETS,
	LH_LINK_KINDS
};

struct lh_link_table {
	__u32 kind;
	__u32 rows; /* in all */
	__u64 end;  /* its length, from which on it repeats; 0: it does not */
	__u32 header_bytes; /* of a line: so many bytes of each frame need no capacity */
	__u32 unused;
};

struct lh_link_row {
	__u64 at; /* ns from the begin, or the number of a packet */
	__u64 value;
};

struct lh_link_xstats {
	__u64 losses;	   /* packets lost by chance */
	__u64 refused;	   /* packets that met a full queue */
	__u64 tx_packets;  /* that left */
	__u64 tx_bytes;
	__u64 queue_packets;	 /* that wait now */
	__u64 queue_bytes;
	__u64 flying_packets;	 /* in the delay now */
	__u64 offered_bytes;	 /* that a recorded line could carry until now */
	__u64 used_bytes;	 /* that packets needed of them until now */
	__u64 passed_packets;	 /* that found enough in the policer's bucket */
	__u64 passed_bytes;
	__u64 policed_packets;	 /* that it dropped */
	__u64 policed_bytes;
};

#endif
