/* The trace in real time: a thread that looks at connections, queues and devices at the plan's intervals. */
#ifndef LONGHAUL_SAMPLER_H
#define LONGHAUL_SAMPLER_H

#include "trace/prober.h"

extern const struct prober sampling_prober;

#endif
