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
	LH_DCF_SEED,	       /* u64: of the backoffs and losses */
	LH_DCF_HT,	       /* u8: 1, the HT PHY of 802.11n in place of DSSS; the medium's, for life */
	LH_DCF_AGGREGATE,      /* u8: 1 to 64, most frames of one transmission; above 1 with HT alone */
	LH_DCF_ONE_RECEIVER,   /* u8: 1, all packets go to the same receiver, whatever their addresses; for life */
	LH_DCF_LOSS,	       /* u32: share of 2^32 of the frames that fail without a collision; with HT alone */
	LH_DCF_END
};

#define LH_DCF_MAX (LH_DCF_END - 1)

struct lh_dcf_xstats {
	/* of this transmitter */
	__u64 frames;	     /* exchanges: with DSSS frames that were acknowledged, with HT also aggregates */
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
	/* of this transmitter with HT; in its exchanges, without collisions */
	__u64 mpdus;	    /* frames, alone or in aggregates */
	__u64 aggregates;   /* exchanges of two frames or more */
	__u64 block_acks;   /* these of which at least one frame arrived */
	__u64 failed_mpdus; /* frames that did not arrive */
	__u64 mpdu_drops;   /* frames that failed too often */
	__u64 held;	    /* frames that have arrived and wait for earlier ones now */
	__u64 mpdu_bytes;   /* of the frames */
	__u64 psdu_bytes;   /* with delimiters and padding */
	__u64 symbols;	    /* of 4 us */
};

#endif
