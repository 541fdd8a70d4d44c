/* Nodes that pass frames on as they are, by their address. */
#ifndef LONGHAUL_BRIDGE_H
#define LONGHAUL_BRIDGE_H

#include "plan/plan.h"

/* Joins the devices of each such node, and enters the hosts behind each; all read back. */
void bridges_create(struct plan *plan);

#endif
