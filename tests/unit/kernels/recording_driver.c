/*
 * Runs kmod/recording.h on this machine: a table and packets come as numbers on standard input, the instants at which they leave
 * and the bytes that were offered go to standard output.
 *
 *	opportunities end rows  at value ...  packets  look bytes ...  instants  instant ...
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t u64;
typedef uint32_t u32;
#define U64_MAX	     UINT64_MAX
#define S64_MAX	     INT64_MAX
#define NSEC_PER_SEC 1000000000L
#define min(a, b)    ((a) < (b) ? (a) : (b))

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#include "recording.h"

static u64 next(void)
{
	u64 number;

	if (scanf("%" SCNu64, &number) != 1)
		exit(2);
	return number;
}

int main(void)
{
	struct recorded_table table = {};
	struct line_place place = {};
	bool opportunities = next();
	struct lh_link_row *rows;
	u64 last = 0;

	table.end = next();
	table.repeats = table.end;
	table.count = (u32)next();
	rows = calloc(table.count, sizeof(*rows));
	for (u32 i = 0; i < table.count; i++) {
		rows[i].at = next();
		rows[i].value = next();
	}
	table.rows = rows;
	for (u64 packets = next(); packets; packets--) {
		u64 look = next();

		last = leave_at(&table, opportunities, &place, look > last ? look : last, next());
		printf("%" PRIu64 "\n", last);
	}
	for (u64 instants = next(); instants; instants--)
		printf("%" PRIu64 "\n", offered_until(&table, opportunities, next()));
	return 0;
}
