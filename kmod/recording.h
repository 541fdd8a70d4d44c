/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recorded link: what it could carry, its delay and its losses at every instant, as tables of rows in the order of time.
 *
 *	rates          row: bit/s from that instant on
 *	opportunities  row: bytes that may leave at that instant; what no packet uses then is wasted
 *	delays         row: ns from that instant on
 *	losses         row: share of 2^32 from that instant on
 *	lost packets   row: the number of a packet that is lost, from 0
 *
 * The first row stands at 0. A table that repeats begins again at its end; one that does not keeps its last row, without any more
 * opportunities. All arithmetic is exact in whole numbers: a packet leaves at the first nanosecond at which all of its bytes could
 * have left, and a part of that nanosecond which it did not need belongs to the packet behind it.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <linux/math64.h>
#include <linux/types.h>

#include "lh_link.h"

/* Later than any packet: no capacity is left. */
#define RECORDING_OVER (S64_MAX / 2)
#define LARGEST_RATE   100000000000ull

struct recorded_table {
	const struct lh_link_row *rows;
	u32 count;
	bool repeats;
	u64 end; /* its length, if it repeats */
};

/* A place in a table that only moves forward. */
struct recorded_place {
	u32 row;
	u64 turn; /* where this turn of the table begins */
};

/* A place in a line: where the last packet ended. */
struct line_place {
	struct recorded_place at;
	u64 now;  /* of rates */
	u64 kept; /* of rates: bit/s x ns that are left of the nanosecond before `now`. Of opportunities: bytes that are used of the row. */
};

static inline u64 row_start(const struct recorded_table *table, const struct recorded_place *place)
{
	return place->turn + table->rows[place->row].at;
}

static inline bool is_last_row(const struct recorded_table *table,
			       const struct recorded_place *place)
{
	return !table->repeats && place->row + 1 == table->count;
}

/* Where the row behind the place's begins. */
static inline u64 row_end(const struct recorded_table *table, const struct recorded_place *place)
{
	if (place->row + 1 < table->count)
		return place->turn + table->rows[place->row + 1].at;
	return table->repeats ? place->turn + table->end : U64_MAX;
}

static inline void next_row(const struct recorded_table *table, struct recorded_place *place)
{
	if (++place->row < table->count)
		return;
	place->row = 0;
	place->turn += table->end;
}

/* The row of an instant, which is not before the place's. */
static inline u64 value_at(const struct recorded_table *table, struct recorded_place *place,
			   u64 instant)
{
	while (row_end(table, place) <= instant)
		next_row(table, place);
	return table->rows[place->row].value;
}

static inline u64 leave_at_rate(const struct recorded_table *table, struct line_place *place,
				u64 look, u64 bytes)
{
	u64 need = bytes * 8 * NSEC_PER_SEC;

	if (look > place->now) {
		place->now = look;
		place->kept = 0;
	}
	if (place->kept >= need) {
		place->kept -= need;
		return place->now;
	}
	need -= place->kept;
	for (;;) {
		u64 rate = value_at(table, &place->at, place->now),
		    room = row_end(table, &place->at) - place->now;
		u64 span = rate ? div64_u64(need - 1, rate) + 1 : U64_MAX;

		if (span <= room && span != U64_MAX) {
			place->now += span;
			place->kept = rate * span - need;
			return place->now;
		}
		if (room > RECORDING_OVER)
			return RECORDING_OVER;
		need -= rate * room;
		place->now += room;
	}
}

static inline u64 leave_at_opportunity(const struct recorded_table *table, struct line_place *place,
				       u64 look, u64 bytes)
{
	for (;;) {
		u64 at = row_start(table, &place->at),
		    left = table->rows[place->at.row].value - place->kept;

		if (at >= look && bytes <= left) {
			place->kept += bytes;
			return at;
		}
		if (at >= look)
			bytes -= left;
		if (is_last_row(table, &place->at)) {
			place->kept = table->rows[place->at.row].value;
			return RECORDING_OVER;
		}
		next_row(table, &place->at);
		place->kept = 0;
	}
}

/* When a packet of that many bytes leaves, if nothing is in front of it from `look` on; `look` counts from the recording's begin. */
static inline u64 leave_at(const struct recorded_table *table, bool opportunities,
			   struct line_place *place, u64 look, u64 bytes)
{
	return opportunities ? leave_at_opportunity(table, place, look, bytes)
			     : leave_at_rate(table, place, look, bytes);
}

/* The bytes of a rate over a span; what is less than a byte is added to `part`, in bit/s x ns. */
static inline u64 whole_bytes(u64 rate, u64 span, u64 *part)
{
	const u64 byte = 8 * (u64)NSEC_PER_SEC,
		  piece = NSEC_PER_SEC / 10; /* a piece at LARGEST_RATE fits in 64 bits */
	u64 pieces = div64_u64(span, piece), rest = rate * (span - pieces * piece), bytes;

	bytes = pieces * div64_u64(rate * piece, byte) + div64_u64(rest, byte);
	*part += pieces * (rate * piece - div64_u64(rate * piece, byte) * byte) + rest -
		 div64_u64(rest, byte) * byte;
	bytes += div64_u64(*part, byte);
	*part -= div64_u64(*part, byte) * byte;
	return bytes;
}

/* The whole bytes that the line could carry from 0 until an instant, that instant included. */
static inline u64 offered_until(const struct recorded_table *table, bool opportunities, u64 until)
{
	struct recorded_place place = {};
	u64 bytes = 0, part = 0;

	for (;;) {
		u64 start = row_start(table, &place), end = min(row_end(table, &place), until),
		    value;

		if (start > until)
			return bytes;
		value = table->rows[place.row].value;
		if (opportunities)
			bytes += value;
		else if (end > start)
			bytes += whole_bytes(value, end - start, &part);
		if (row_end(table, &place) > until || is_last_row(table, &place))
			return bytes;
		next_row(table, &place);
	}
}

/* Whether a line that repeats carries anything at all: a packet would look for its end without one. */
static inline bool carries(const struct recorded_table *table)
{
	u32 row;

	for (row = 0; row < table->count; row++)
		if (table->rows[row].value)
			return true;
	return !table->repeats;
}

#endif
