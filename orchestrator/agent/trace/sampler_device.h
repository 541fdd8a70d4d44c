/* Samples of the network devices of real hosts, as records of links. */
#ifndef LONGHAUL_SAMPLER_DEVICE_H
#define LONGHAUL_SAMPLER_DEVICE_H

#include "plan/plan.h"

void sample_devices_open(const struct plan *plan);
void sample_devices(const struct plan *plan, uint64_t now_ns);

#endif
