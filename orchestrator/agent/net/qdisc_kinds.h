/* What differs between the kinds of qdisc: their options, to the kernel and back, and their counters. */
#ifndef LONGHAUL_QDISC_KINDS_H
#define LONGHAUL_QDISC_KINDS_H

#include <lh_dcf.h>
#include <lh_link.h>

#include "net/netlink.h"
#include "plan/plan.h"

struct qdisc_counters {
	uint64_t packets, bytes, drops, overlimits, qlen, backlog, marks;
};

/* The kernel's counts of dualpi2, in its order. */
struct dualpi2_xstats {
	uint32_t prob, delay_c, delay_l, packets_in_c, packets_in_l, maxq, ecn_mark, step_marks;
	uint32_t credit, memory_used, max_memory_used, memory_limit;
};

/* CAKE's classes. */
#define MOST_TINS 8

struct cake_tin {
	uint32_t sent_packets, drops, marks, ack_drops;
};

struct cake_counters {
	struct cake_tin tins[MOST_TINS];
	size_t tin_count;
};

/* One qdisc of a device as the kernel describes it. */
struct qdisc_reading {
	unsigned int index; /* of the device */
	char kind[16];
	uint32_t handle, parent;
	struct qdisc_counters counters;
	struct lh_dcf_xstats dcf;      /* zero for other kinds */
	struct dualpi2_xstats dualpi2; /* zero for other kinds */
	struct lh_link_xstats link;    /* zero for other kinds */
	struct cake_counters cake;     /* zero for other kinds */
	bool seed_honoured;	       /* netem: the kernel returns the seed it was given */
	_Alignas(struct rtattr) char options[1024];
	size_t options_size;
};

/* Adds the options of a qdisc to a request; those of `before` that the kernel would not take again are left out. */
void qdisc_put_options(struct request *request, const struct qdisc *qdisc,
		       const struct qdisc *before);
/* The options of a reading as the plan has them. */
void qdisc_get_options(const struct qdisc_reading *reading, const struct qdisc *asked,
		       struct qdisc *read, bool *seed_honoured);
void qdisc_get_cake(const struct rtattr *application, struct cake_counters *counters);
/* Packets marked with ECN, of the kinds that count them. */
uint64_t qdisc_get_marks(const char *kind, const struct rtattr *application);

#endif
