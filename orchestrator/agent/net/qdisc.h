/* Queueing disciplines: ask, change in place, read back, count. */
#ifndef LONGHAUL_QDISC_H
#define LONGHAUL_QDISC_H

#include "net/qdisc_kinds.h"
#include "plan/plan.h"

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

#endif
