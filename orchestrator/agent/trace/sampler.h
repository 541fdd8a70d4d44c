/* What the sampler looks at: connections (sampler_tcp.c) and queues (sampler_queues.c), each record into the trace. */
#ifndef LONGHAUL_SAMPLER_H
#define LONGHAUL_SAMPLER_H

#include "plan/plan.h"

/* Opens what is needed, in the nodes. */
void sample_tcp_open(const struct plan *plan);
/* Looks at every connection: FLOW records of receivers, and of senders ACK and STATE records if `senders`. */
void sample_tcp(const struct plan *plan, uint64_t now_ns, bool senders);
/* At the end: what the receivers' applications got in all. */
void sample_tcp_end(const struct plan *plan, uint64_t now_ns);

void sample_queues_open(const struct plan *plan);
void sample_queues(const struct plan *plan, uint64_t now_ns);

/* sampler_device.c: the queues of real hosts' own devices */
void sample_devices_open(const struct plan *plan);
void sample_devices(const struct plan *plan, uint64_t now_ns);

#endif
