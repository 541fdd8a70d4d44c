/* SPDX-License-Identifier: GPL-2.0 */
/* The virtual clock of a guest, which the kernel does not export: clock sources are listed by their ratings. */
#ifndef KERNELS_CLOCK_H
#define KERNELS_CLOCK_H

#include <linux/clocksource.h>

#define KERNELS_RATING 300

/* The neighbour of a clock source that is listed for a moment with the next lower rating, and so not used; NULL: it is not there. */
static inline struct clocksource *find_kernels_clock(struct clocksource *own)
{
	struct clocksource *before;

	own->rating = KERNELS_RATING - 1;
	if (clocksource_register_hz(own, NSEC_PER_SEC))
		return NULL;
	before = list_prev_entry(own, list);
	if (before->rating != KERNELS_RATING)
		before = NULL;
	return clocksource_unregister(own) ? NULL : before;
}

#endif
