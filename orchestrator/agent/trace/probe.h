/* What writes the trace: of the sockets and queues of the plan, and what the agent has to say. */
#ifndef LONGHAUL_PROBE_H
#define LONGHAUL_PROBE_H

#include "plan/plan.h"

enum event {
	EVENT_CONNECTED = 1,
	EVENT_STOPPED,
	EVENT_COMPLETED,
	EVENT_PATH_CHANGED,
	EVENT_END,
	EVENT_FLOW_CHANGED
};
#define NO_FLOW 0xffff

/* Names the queues to follow and the instant that is time zero. */
void probe_start(const struct plan *plan, uint64_t epoch_ns);
void probe_mark(enum event event, uint32_t id, uint64_t value);
void probe_count_udp(uint32_t flow, uint64_t bytes, uint64_t packets);
/* Writes out what the probe holds; a failure is fatal and names the host's reason. */
void probe_flush(void);

struct probe_report {
	uint64_t records, bytes;
	uint32_t *
		max_frame_bytes; /* by place in plan->links; NULL where nobody looked at each frame */
};
void probe_report(const struct plan *plan, struct probe_report *report);

#endif
