/*
 * The records are those of the kernel's probe. Between two looks the sampler knows nothing: no single drop,
 * no single ACK.
 */
#include "trace/sampler.h"

#include <pthread.h>
#include <stdlib.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "system/threads.h"
#include "trace/sampler_device.h"
#include "trace/sampler_queues.h"
#include "trace/sampler_tcp.h"
#include "trace/trace_file.h"

#define WRITE_OUT_NS 100000000ull /* users watch a run while it is running */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the trace and of all that was seen */
static const struct plan *the_plan;
static bool over; /* the end of the trace is written: what happens later is not part of the run */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void *look_thread(void *unused)
{
	uint64_t tick_ns = the_plan->trace_tick_us * NS_PER_US;
	uint64_t sender_ns = the_plan->trace_ack_us * NS_PER_US;
	uint64_t next_tick = 0, next_sender = 0, next_write = WRITE_OUT_NS;

	(void)unused;
	for (;;) {
		uint64_t now;

		clock_wait_surely(least(next_tick, next_sender));
		pthread_mutex_lock(&lock);
		now = clock_now_ns();
		if (over) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		sample_tcp(the_plan, now, now >= next_sender);
		if (now >= next_tick) {
			sample_queues(the_plan, now);
			sample_devices(the_plan, now);
		}
		if (now >= next_write) {
			trace_write_out();
			next_write = now + WRITE_OUT_NS;
		}
		pthread_mutex_unlock(&lock);
		/* A look that came too late is not repeated. */
		next_tick = now >= next_tick ? (now / tick_ns + 1) * tick_ns : next_tick;
		next_sender = now >= next_sender ? (now / sender_ns + 1) * sender_ns : next_sender;
	}
}

static void start(const struct plan *plan, uint64_t epoch_ns)
{
	(void)epoch_ns;
	if (!plan->trace_ack_us || !plan->trace_tick_us)
		die("starting the trace", "", "",
		    "in real time not every ACK can be seen: trace.ack_us must not be 0");
	the_plan = plan;
	trace_open();
	sample_tcp_open(plan);
	sample_queues_open(plan);
	sample_devices_open(plan);
	thread_start(look_thread, NULL);
}

static void mark(enum event event, uint32_t id, uint64_t value)
{
	struct lh_event *record;

	pthread_mutex_lock(&lock);
	if (!over) {
		record = trace_record(LH_EVENT, 0, (uint16_t)id, clock_now_ns());
		record->what = event;
		record->value = value;
	}
	pthread_mutex_unlock(&lock);
}

static void count_udp(uint32_t flow, uint64_t bytes, uint64_t packets)
{
	struct lh_flow *record;

	pthread_mutex_lock(&lock);
	if (!over) {
		record = trace_record(LH_FLOW, 0, (uint16_t)flow, clock_now_ns());
		record->app_bytes = bytes;
		record->packets = (uint32_t)packets;
	}
	pthread_mutex_unlock(&lock);
}

static void flush(void)
{
	pthread_mutex_lock(&lock);
	over = true;
	sample_queues(the_plan, clock_now_ns());
	sample_devices(the_plan, clock_now_ns());
	sample_tcp_end(the_plan, clock_now_ns());
	trace_write_out();
	pthread_mutex_unlock(&lock);
}

static void report_all(const struct plan *plan, struct probe_report *report)
{
	(void)plan;
	*report = (struct probe_report){.records = trace_records(), .bytes = trace_bytes()};
}

const struct prober sampling_prober = {start, mark, count_udp, flush, report_all};
