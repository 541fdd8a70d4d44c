/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long frames of sch_lh_dcf are in the air, by the PHY of their channel. orchestrator/plan/wifi_airtime.py and
 * wifi_airtime_ht.py have the same arithmetic.
 *
 *	DSSS	air(n)	   = 192 us + ceil(8 n / rate) in whole us (the unit of the PLCP's LENGTH field)
 *	HT	data(n)	   = preamble + 4 us ceil((16 + 8 n + 6 encoders) / bits)	bits = 4 us of the rate
 *		control(n) = 20 us    + 4 us ceil((16 + 8 n + 6) / 4 us of the basic rate)
 *		preamble   = 32 us + 4 us for each of 1, 2, 4, 4 training fields	1 to 4 streams of up to 135 Mbit/s
 *
 * 16 bits are the SERVICE field, 6 the tail of an encoder, of which one codes up to 300 Mbit/s (IEEE 802.11-2012, clauses 18 and 20:
 * HT-mixed format, long guard interval, 5 GHz and so without a signal extension).
 */
#ifndef DCF_AIR_H
#define DCF_AIR_H

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#define RTS_BYTES 20
#define CTS_BYTES 14
#define ACK_BYTES 14

#define PLCP_US 192 /* long preamble 144, header 48, both at 1 Mbit/s */

#define BLOCK_ACK_BYTES 32 /* compressed: a bitmap of 64 frames */
#define DELIMITER_BYTES 4
#define MPDU_BYTES 4095 /* of a subframe: its delimiter has 12 bits for it */
#define PSDU_BYTES 65535
#define PPDU_NS ((u64)5484 * NSEC_PER_USEC) /* what the L-SIG field of an HT-mixed preamble can say */
#define WINDOW 64 /* of the BlockAck: frames from the first that has not arrived */
#define SYMBOL_NS ((u64)4 * NSEC_PER_USEC)
#define SYMBOLS_PER_S 250000
#define SERVICE_BITS 16
#define TAIL_BITS 6
#define LEGACY_PREAMBLE_NS ((u64)20 * NSEC_PER_USEC)
#define HT_PREAMBLE_NS ((u64)32 * NSEC_PER_USEC) /* without the training fields for data */
#define STREAM_BPS 135000000 /* 40 MHz, MCS 7 */
#define ENCODER_BPS 300000000
#define MOST_STREAMS 4

struct phy {
	u64 slot_ns, sifs_ns, difs_ns;
	u32 cw_min, cw_max;
};

static const struct phy dsss = {
	.slot_ns = 20 * NSEC_PER_USEC,
	.sifs_ns = 10 * NSEC_PER_USEC,
	.difs_ns = 50 * NSEC_PER_USEC,
	.cw_min = 31,
	.cw_max = 1023,
};

static const struct phy ofdm = {
	.slot_ns = 9 * NSEC_PER_USEC,
	.sifs_ns = 16 * NSEC_PER_USEC,
	.difs_ns = 34 * NSEC_PER_USEC,
	.cw_min = 15,
	.cw_max = 1023,
};

/* What the instances of a medium agree on. */
struct terms {
	u32 number;
	u64 rate_bps; /* under the medium's lock: the one that may change */
	u64 basic_rate_bps;
	bool rts;
	bool ht;
};

/* One transmission of data: a frame, or several in an aggregate. */
struct burst {
	u32 count;
	u32 mpdu_bytes; /* of all its frames */
	u32 psdu_bytes; /* with what an aggregate puts around them */
	u64 symbols; /* HT */
	u64 air_ns;
};

static const struct phy *phy_of(const struct terms *terms)
{
	return terms->ht ? &ofdm : &dsss;
}

static u64 dsss_ns(u32 bytes, u64 rate_bps)
{
	return (PLCP_US + DIV64_U64_ROUND_UP((u64)bytes * 8 * USEC_PER_SEC, rate_bps)) * NSEC_PER_USEC;
}

static u64 symbols(u32 bytes, u64 rate_bps, u32 encoders)
{
	u64 bits = SERVICE_BITS + (u64)bytes * 8 + (u64)TAIL_BITS * encoders;

	return DIV64_U64_ROUND_UP(bits, div_u64(rate_bps, SYMBOLS_PER_S));
}

static u64 control_ns(const struct terms *terms, u32 bytes)
{
	if (!terms->ht)
		return dsss_ns(bytes, terms->basic_rate_bps);
	return LEGACY_PREAMBLE_NS + symbols(bytes, terms->basic_rate_bps, 1) * SYMBOL_NS;
}

static u64 ht_preamble_ns(u64 rate_bps)
{
	static const u8 fields[MOST_STREAMS] = { 1, 2, 4, 4 };
	u64 streams = DIV64_U64_ROUND_UP(rate_bps, STREAM_BPS);

	return HT_PREAMBLE_NS + fields[streams - 1] * SYMBOL_NS;
}

/* Sets the time of a burst from its bytes. */
static void time_burst(struct burst *burst, const struct terms *terms)
{
	if (!terms->ht) {
		burst->air_ns = dsss_ns(burst->psdu_bytes, terms->rate_bps);
		return;
	}
	burst->symbols = symbols(burst->psdu_bytes, terms->rate_bps,
				 (u32)DIV64_U64_ROUND_UP(terms->rate_bps, ENCODER_BPS));
	burst->air_ns = ht_preamble_ns(terms->rate_bps) + burst->symbols * SYMBOL_NS;
}

/* The longest burst of the first of these frames within the limits of an aggregate; the first alone is always one. */
static struct burst compose_burst(const u32 *mpdu_bytes, u32 most, const struct terms *terms)
{
	struct burst burst = { .count = 1, .mpdu_bytes = mpdu_bytes[0], .psdu_bytes = mpdu_bytes[0] };

	time_burst(&burst, terms);
	while (burst.count < most && max(mpdu_bytes[0], mpdu_bytes[burst.count]) <= MPDU_BYTES) {
		u32 own_bytes = burst.count > 1 ? burst.psdu_bytes : DELIMITER_BYTES + burst.psdu_bytes;
		struct burst longer = {
			.count = burst.count + 1,
			.mpdu_bytes = burst.mpdu_bytes + mpdu_bytes[burst.count],
			/* Each but the last is padded to a multiple of the delimiter. */
			.psdu_bytes = round_up(own_bytes, DELIMITER_BYTES) + DELIMITER_BYTES + mpdu_bytes[burst.count],
		};

		time_burst(&longer, terms);
		if (longer.psdu_bytes > PSDU_BYTES || longer.air_ns > PPDU_NS)
			break;
		burst = longer;
	}
	return burst;
}

static u64 before_data_ns(const struct terms *terms)
{
	if (!terms->rts)
		return 0;
	return control_ns(terms, RTS_BYTES) + control_ns(terms, CTS_BYTES) + 2 * phy_of(terms)->sifs_ns;
}

static u64 after_data_ns(const struct terms *terms, u32 count)
{
	return phy_of(terms)->sifs_ns + control_ns(terms, count > 1 ? BLOCK_ACK_BYTES : ACK_BYTES);
}

/* What is lost when frames collide of which the longest takes this time. */
static u64 collision_ns(const struct terms *terms, u64 longest_ns)
{
	return (terms->rts ? control_ns(terms, RTS_BYTES) : longest_ns) + after_data_ns(terms, 1);
}

#endif
