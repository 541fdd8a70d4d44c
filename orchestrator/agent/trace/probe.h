/* Writes the trace: it follows the sockets and queues of the plan, and takes the agent's events. */
#ifndef LONGHAUL_PROBE_H
#define LONGHAUL_PROBE_H

#include "trace/prober.h"

/* Names the queues to follow and the instant that is time zero. */
void probe_start(const struct plan *plan, uint64_t epoch_ns);
void probe_mark(enum event event, uint32_t id, uint64_t value);
void probe_count_udp(uint32_t flow, uint64_t bytes, uint64_t packets);
/* Writes out what the probe holds; a failure is fatal and names the host's reason. */
void probe_flush(void);
void probe_report(const struct plan *plan, struct probe_report *report);

#endif
