/* Makes window clamps of routes effective before the flows begin. */
#ifndef LONGHAUL_PRIME_H
#define LONGHAUL_PRIME_H

#include "plan.h"

void prime_clamps(const struct plan *plan);

#endif
