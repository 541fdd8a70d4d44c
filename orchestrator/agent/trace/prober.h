/* The interface of the two that can write a trace: a module inside the kernel, and a thread that samples from outside. */
#ifndef LONGHAUL_PROBER_H
#define LONGHAUL_PROBER_H

#include "plan/plan.h"

enum event {
	EVENT_CONNECTED = 1,
	EVENT_STOPPED,
	EVENT_COMPLETED,
	EVENT_PATH_CHANGED,
	EVENT_END,
	EVENT_FLOW_CHANGED,
	EVENT_REQUEST,	    /* completed; the value is its time in nanoseconds */
	EVENT_REQUEST_LOST, /* the value is how long its response was waited for */
	EVENT_ROUND	    /* completed, of the first flow at a barrier; the value is its time */
};
#define NO_FLOW 0xffff

struct probe_report {
	uint64_t records, bytes;
	uint32_t
		*max_frame_bytes; /* by place in plan->links; NULL where not every frame was seen */
};

/* The functions of probe.h. */
struct prober {
	void (*start)(const struct plan *plan, uint64_t epoch_ns);
	void (*mark)(enum event event, uint32_t id, uint64_t value);
	void (*count_udp)(uint32_t flow, uint64_t bytes, uint64_t packets);
	void (*flush)(void);
	void (*report)(const struct plan *plan, struct probe_report *report);
};

#endif
