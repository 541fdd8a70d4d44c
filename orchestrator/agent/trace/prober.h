/* The two ways to a trace: a module inside the kernel, or this process looking from outside. */
#ifndef LONGHAUL_PROBER_H
#define LONGHAUL_PROBER_H

#include "trace/probe.h"

/* The functions of probe.h, for one way. */
struct prober {
	void (*start)(const struct plan *plan, uint64_t epoch_ns);
	void (*mark)(enum event event, uint32_t id, uint64_t value);
	void (*count_udp)(uint32_t flow, uint64_t bytes, uint64_t packets);
	void (*flush)(void);
	void (*report)(const struct plan *plan, struct probe_report *report);
};

extern const struct prober kernel_prober, sampling_prober;

#endif
