/* Queueing disciplines: ask, change in place, read back, count. */
#ifndef LONGHAUL_QDISC_H
#define LONGHAUL_QDISC_H

#include <lh_dcf.h>

#include "plan/plan.h"
#include "net/netlink.h"

struct qdisc_counters {
	uint64_t packets, bytes, drops, overlimits, qlen, backlog, marks;
};

/* One qdisc of a device as the kernel describes it. */
struct qdisc_reading {
	unsigned int index; /* of the device */
	char kind[16];
	uint32_t handle, parent;
	struct qdisc_counters counters;
	struct lh_dcf_xstats dcf; /* zero for other kinds */
	bool seed_honoured;	  /* netem: the kernel returns the seed it was given */
	_Alignas(struct rtattr) char options[1024];
	size_t options_size;
};

/* Installs the qdiscs of one end, read back. */
void qdiscs_install_on(const struct end *end);

/* Installs the qdiscs of every end; ends without any are checked to have noqueue. */
void qdiscs_install(struct plan *plan);

/* Changes what differs, in place, and reads it back. */
void qdiscs_change(const struct change *change);

/* All qdiscs of a node; the caller frees the list. */
struct qdisc_reading *qdiscs_read(const struct node *node, size_t *count);

/* The reading of one qdisc, or NULL. */
const struct qdisc_reading *qdisc_find(const struct qdisc_reading *readings, size_t count,
				       unsigned int index, uint32_t handle);

/* qdisc_kinds.c: the options of each kind, out and in. */
void qdisc_put_options(struct request *request, const struct qdisc *qdisc,
		       const struct qdisc *before);
void qdisc_get_options(const struct qdisc_reading *reading, const struct qdisc *asked,
		       struct qdisc *read, bool *seed_honoured);
uint64_t qdisc_get_marks(const char *kind, const struct rtattr *application);

#endif
