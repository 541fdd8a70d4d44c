/* Addresses, neighbours and routes of the plan. */
#ifndef LONGHAUL_ADDRESSES_H
#define LONGHAUL_ADDRESSES_H

#include "plan/plan.h"

/* Gives a device its address, or none, and reads back that it has no other. */
void address_set(const struct end *end);
/* Adds neighbours and routes, read back. */
void routes_create(const struct plan *plan);

#endif
