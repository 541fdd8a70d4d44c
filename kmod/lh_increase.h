/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Additive increase with a fraction: `rate` segments a window, in 1/1024, for whatever number of segments one ACK covers.
 *
 * What is not yet a whole segment stays as credit, so that stretch ACKs, delayed ACKs and an ACK a segment give the same
 * window. At a rate of 1024 this is tcp_cong_avoid_ai(), step for step.
 *
 * Range: acked < 2^16 and rate < 2^32 make a product below 2^48; a window of 100 Gbit/s * 1 s is below 2^23.1 segments and
 * below 2^33.1 in 1/1024: u64 holds both with room to spare.
 */
#ifndef LH_INCREASE_H
#define LH_INCREASE_H

#include <linux/math64.h>
#include <linux/minmax.h>

#define LH_RATE_SHIFT 10
#define LH_RATE_ONE 1024u

/* Segments to add to a window of `cwnd`; never more than were acknowledged, which would be faster than slow start. */
static inline u32 lh_increase(u64 *credit, u32 cwnd, u32 acked, u32 rate)
{
	u64 segment = (u64)cwnd << LH_RATE_SHIFT;
	u32 gentle = 0, whole = 0;

	/* Credit of a larger window is worth one segment now, not a burst. */
	if (*credit >= segment) {
		*credit = 0;
		gentle = 1;
	}
	*credit += (u64)acked * rate;
	if (*credit >= segment) {
		whole = min_t(u64, div64_u64(*credit, segment), acked);
		*credit -= min(*credit, whole * segment);
		*credit = min(*credit, segment);
	}
	return gentle + whole;
}

#endif
