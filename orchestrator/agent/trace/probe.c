/* In virtual time the kernel's module follows every packet; in real time the agent samples. */
#include "trace/probe.h"

#include "trace/probe_kernel.h"
#include "trace/sampler.h"

static const struct prober *prober;

void probe_start(const struct plan *plan, uint64_t epoch_ns)
{
	prober = plan->real_clock ? &sampling_prober : &kernel_prober;
	prober->start(plan, epoch_ns);
}

void probe_mark(enum event event, uint32_t id, uint64_t value)
{
	prober->mark(event, id, value);
}

void probe_count_udp(uint32_t flow, uint64_t bytes, uint64_t packets)
{
	prober->count_udp(flow, bytes, packets);
}

void probe_flush(void)
{
	prober->flush();
}

void probe_report(const struct plan *plan, struct probe_report *report)
{
	prober->report(plan, report);
}
