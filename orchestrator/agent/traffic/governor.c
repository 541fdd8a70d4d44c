/*
 * Every TCP flow is paced by its socket, and the rates of all sockets together never exceed the cap:
 *
 *     cap = what flows with a rate in the plan ask for + what is shared by the others
 *
 * The shared part is dealt out again twenty times a second: a flow that uses little leaves the rest to those that want more.
 * Shares are lowered before any is raised, and a flow that is about to start has its share already. The bytes sent
 * are counted with retransmissions and headers, and a run that reaches its volume is ended.
 */
#include "traffic/governor.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/nic.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "system/files.h"
#include "system/threads.h"
#include "traffic/flow.h"

#define EVERY_NS     50000000ull
#define AHEAD_US     200000 /* a flow that starts within this time has a share */
#define WANTS_MORE   80	    /* percent of its share that a flow uses which could use more */
#define ROOM	     150    /* percent of what the others use that they are left */
#define LEAST_SHARE  20	    /* none has less than this part of an even share */
#define UDP_OVERHEAD 42
#define SENT_FILE    "sent"

struct governed {
	struct flow *flow;
	bool shares;	    /* it has no rate in the plan */
	uint64_t sent;	    /* payload, with retransmissions */
	uint64_t sent_then; /* at the last look */
	uint64_t share_bps, next_bps;
};

static struct governed *governed;
static size_t governed_count;
static uint64_t shared_bps, cap_bps; /* payload, frames */
static uint64_t most_bytes, frame, payload;
static uint64_t sent_frames, peak_bps;

static uint64_t in_frames(uint64_t bytes)
{
	return bytes * frame / payload;
}

static bool is_live(const struct flow *flow, uint64_t now_us)
{
	return !flow->traffic->over && flow->start_us <= now_us + AHEAD_US &&
	       now_us < flow_end_us(flow);
}

/* What the flow's present socket has sent, on top of what is accounted for. */
static uint64_t payload_sent(const struct flow *flow)
{
	const struct flow_counters *counters = flow->counters;
	const struct traffic *traffic = flow->traffic;
	uint64_t bytes;
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	if (flow->kind == FLOW_UDP)
		return counters->bytes_sent + counters->packets_sent * UDP_OVERHEAD;
	bytes = counters->bytes_sent + counters->retransmits * payload;
	if (traffic->sender_fd >= 0 && !traffic->over &&
	    !getsockopt(traffic->sender_fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		bytes += info.tcpi_bytes_sent;
	return bytes;
}

static void set_share(struct governed *one)
{
	uint64_t bytes = one->next_bps / 8;

	one->share_bps = one->flow->max_pacing_bps = one->next_bps;
	if (one->flow->traffic->sender_fd >= 0 && !one->flow->traffic->over)
		setsockopt(one->flow->traffic->sender_fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes,
			   sizeof(bytes));
}

/*
 * First those that use less than an even share, then the rest for the others, evenly. All shares are of one instant: a flow
 * that became live in between would get what is dealt out already.
 */
static void deal(uint64_t elapsed_ns)
{
	uint64_t left = shared_bps, hungry = 0, live = 0, now_us = clock_now_ns() / NS_PER_US;

	for (size_t i = 0; i < governed_count; i++)
		live += governed[i].shares && is_live(governed[i].flow, now_us);
	for (size_t i = 0; i < governed_count && live; i++) {
		struct governed *one = &governed[i];
		uint64_t even = shared_bps / live, least = even * LEAST_SHARE / 100;
		uint64_t used = (one->sent - one->sent_then) * 8 * NS_PER_S / elapsed_ns;

		one->next_bps = 0;
		if (!one->shares || !is_live(one->flow, now_us))
			continue;
		if (used * 100 >= one->share_bps * WANTS_MORE || used * ROOM / 100 >= even) {
			hungry++;
			continue;
		}
		one->next_bps = used * ROOM / 100 > least ? used * ROOM / 100 : least;
		left -= one->next_bps;
	}
	for (size_t i = 0; i < governed_count; i++) {
		struct governed *one = &governed[i];

		if (one->shares && is_live(one->flow, now_us) && !one->next_bps)
			one->next_bps = left / hungry;
		/* No flow wants the rest: a single one may as well have it. */
		else if (live == 1 && one->next_bps)
			one->next_bps = shared_bps;
	}
	for (size_t i = 0; i < governed_count; i++)
		if (governed[i].next_bps && governed[i].next_bps < governed[i].share_bps)
			set_share(&governed[i]);
	for (size_t i = 0; i < governed_count; i++)
		if (governed[i].next_bps > governed[i].share_bps)
			set_share(&governed[i]);
}

static void count(uint64_t elapsed_ns)
{
	uint64_t frames = 0, before = sent_frames, rate_bps;

	for (size_t i = 0; i < governed_count; i++) {
		struct governed *one = &governed[i];
		uint64_t sent = payload_sent(one->flow);

		one->sent_then = one->sent;
		/* A connection that has just ended is for a moment counted nowhere. */
		if (sent > one->sent)
			one->sent = sent;
		frames += one->flow->kind == FLOW_UDP ? one->sent : in_frames(one->sent);
	}
	__atomic_store_n(&sent_frames, frames, __ATOMIC_RELAXED);
	rate_bps = (frames - before) * 8 * NS_PER_S / elapsed_ns;
	if (elapsed_ns >= EVERY_NS / 2 && rate_bps > peak_bps)
		peak_bps = rate_bps;
}

/* The supervisor adds it to the day's when this process has ended. */
static void save_sent(void)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%" PRIu64 "\n", sent_frames);

	write_whole_file(SENT_FILE, text, (size_t)length);
}

static void *govern(void *unused)
{
	uint64_t before_ns = 0, at_ns = 0;

	(void)unused;
	for (uint32_t look = 0;; look++) {
		uint64_t now_ns;

		at_ns += EVERY_NS;
		clock_wait_surely(at_ns);
		now_ns = clock_now_ns();
		pthread_mutex_lock(&traffic_lock);
		count(now_ns - before_ns);
		deal(now_ns - before_ns);
		pthread_mutex_unlock(&traffic_lock);
		before_ns = now_ns;
		if (look % 10 == 0 || sent_frames > most_bytes)
			save_sent();
		if (sent_frames > most_bytes)
			die("sending from", "this host",
			    "the operator's policy says how much a run and a day may send",
			    "%" PRIu64 " bytes are sent, and no more than %" PRIu64 " may be",
			    sent_frames, most_bytes);
	}
	return NULL;
}

uint64_t governor_asked_bps(const struct plan *plan, const struct flow *flow)
{
	uint64_t most = flow->max_pacing_bps;

	/* Its rate counts frames already. */
	if (flow->kind == FLOW_UDP)
		return flow->rate_bps;

	for (size_t i = 0; i < plan->change_count; i++) {
		const struct change *change = &plan->schedule[i];

		if (change->kind == CHANGE_FLOW && change->flow == flow &&
		    change->max_pacing_bps != NEVER && change->max_pacing_bps > most)
			most = change->max_pacing_bps;
	}
	return most * nic_frame(flow->from->device) / nic_payload(flow->from->device);
}

void governor_prepare(struct plan *plan, const struct node *node, uint64_t rate_bps,
		      uint64_t run_bytes)
{
	uint64_t asked_bps = 0, sharing = 0;

	frame = nic_frame(node->device);
	payload = nic_payload(node->device);
	cap_bps = rate_bps;
	most_bytes = run_bytes;
	governed = need_memory(plan->flow_count, sizeof(*governed));
	for (size_t i = 0; i < plan->flow_count; i++) {
		struct flow *flow = &plan->flows[i];
		uint64_t its_bps = governor_asked_bps(plan, flow);

		if (flow->from != node)
			continue;
		governed[governed_count++] = (struct governed){.flow = flow, .shares = !its_bps};
		asked_bps += its_bps;
		sharing += !its_bps;
	}
	shared_bps = (cap_bps - asked_bps) * payload / frame;
	for (size_t i = 0; i < governed_count; i++)
		if (governed[i].shares)
			governed[i].share_bps = governed[i].flow->max_pacing_bps =
				shared_bps / sharing;
}

void governor_start(uint64_t left_of_day)
{
	if (left_of_day < most_bytes)
		most_bytes = left_of_day;
	if (governed_count)
		thread_start(govern, NULL);
}

void governor_write(struct writer *writer)
{
	if (!cap_bps)
		return;
	writer_object(writer, "governor");
	writer_unsigned(writer, "cap_bps", cap_bps);
	writer_unsigned(writer, "peak_bps", peak_bps);
	writer_unsigned(writer, "sent_bytes", sent_frames);
	writer_end(writer);
}
