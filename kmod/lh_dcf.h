/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What sch_lh_dcf and its users say to each other: the attributes nested in TCA_OPTIONS, and what TCA_STATS_APP holds.
 * Attributes and statistics are only ever appended, so that a reader of fewer keeps working.
 */
#ifndef LH_DCF_H
#define LH_DCF_H

#include <linux/types.h>

enum {
	LH_DCF_UNSPEC,
	LH_DCF_PAD,
	LH_DCF_MEDIUM,	       /* u32: transmitters with the same number share one channel */
	LH_DCF_RATE_BPS,       /* u64: of data frames; the medium's */
	LH_DCF_BASIC_RATE_BPS, /* u64: of RTS, CTS and ACK; the medium's, for life */
	LH_DCF_LIMIT,	       /* u32: packets, with the one that is in the air */
	LH_DCF_OVERHEAD_BYTES, /* u32: MAC header and FCS around an IP packet */
	LH_DCF_RTS,	       /* u8: 1, RTS and CTS before every data frame; the medium's, for life */
	LH_DCF_SEED,	       /* u64: of the backoffs */
	LH_DCF_END
};

#define LH_DCF_MAX (LH_DCF_END - 1)

struct lh_dcf_xstats {
	/* of this transmitter */
	__u64 frames;	     /* that were acknowledged */
	__u64 exchange_ns;   /* air time of their exchanges, from the RTS or data to the end of the ACK */
	__u64 collisions;    /* transmissions that met another one */
	__u64 collision_ns;  /* air time of these, up to where DIFS counts again */
	__u64 retries;	     /* collisions after which the frame was tried again */
	__u64 retry_drops;   /* collisions after which it was given up */
	__u64 backoff_slots; /* sum of all that were drawn */
	/* of the medium */
	__u64 medium_exchanges;
	__u64 medium_collisions; /* each counted once, however many took part */
	__u64 medium_busy_ns;	 /* air time of both, each counted once */
};

#endif
