/* Addresses, neighbours and routes of the plan. */
#ifndef LONGHAUL_ADDRESSES_H
#define LONGHAUL_ADDRESSES_H

#include "plan/plan.h"

/* Gives a device its address, if it has one. */
void address_add(const struct end *end);
/* Reads back that every device has its own address, or none, and no other: a second one would be another path. */
void addresses_check(const struct plan *plan);
/* Adds neighbours and routes, read back. */
void routes_create(const struct plan *plan);

#endif
