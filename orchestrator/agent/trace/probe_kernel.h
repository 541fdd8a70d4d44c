/* The trace of a guest in virtual time: a record at every ACK, by the module lh_trace. */
#ifndef LONGHAUL_PROBE_KERNEL_H
#define LONGHAUL_PROBE_KERNEL_H

#include "trace/prober.h"

extern const struct prober kernel_prober;

#endif
