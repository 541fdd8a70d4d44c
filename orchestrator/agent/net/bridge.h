/* Nodes that pass frames on as they are, by their address. */
#ifndef LONGHAUL_BRIDGE_H
#define LONGHAUL_BRIDGE_H

#include "plan/plan.h"

/* Joins the devices of each such node, and teaches it where each host is; all read back. */
void bridges_create(struct plan *plan);

#endif
