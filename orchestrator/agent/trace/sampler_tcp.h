/* Samples of TCP connections: records of what senders and receivers have done so far. */
#ifndef LONGHAUL_SAMPLER_TCP_H
#define LONGHAUL_SAMPLER_TCP_H

#include "plan/plan.h"

/* Opens what is needed, in the nodes. */
void sample_tcp_open(const struct plan *plan);
/* Looks at every connection: FLOW records of receivers, and of senders ACK and STATE records if `senders`. */
void sample_tcp(const struct plan *plan, uint64_t now_ns, bool senders);
/* At the end: the bytes that the receivers' applications got in all. */
void sample_tcp_end(const struct plan *plan, uint64_t now_ns);

#endif
