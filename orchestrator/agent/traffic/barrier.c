/*
 * The last client that is ready begins the round, and the turn goes from one client to the next: each has a semaphore of its own, so that
 * no client wakes for the turn of another. The alarm at a flow's end interrupts the wait for a turn, as it does other calls.
 */
#include "traffic/barrier.h"

#include <semaphore.h>
#include <string.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "trace/probe.h"
#include "traffic/flow.h"

struct client {
	const struct flow *flow;
	sem_t turn;
};

struct barrier {
	struct client *clients;
	size_t count, ready, answered;
	uint64_t due_ns, begin_ns;
};

static bool are_together(const struct flow *one, const struct flow *other)
{
	if (!other->requests || !other->requests->barrier)
		return false;
	return one == other || (one->group && other->group && !strcmp(one->group, other->group));
}

static void prepare(struct plan *plan, struct flow *first)
{
	struct barrier *barrier = need_memory(1, sizeof(*barrier));

	barrier->clients = need_memory(plan->flow_count, sizeof(*barrier->clients));
	for (size_t i = 0; i < plan->flow_count; i++) {
		struct flow *flow = &plan->flows[i];
		struct client *client = &barrier->clients[barrier->count];

		if (!are_together(first, flow))
			continue;
		client->flow = flow;
		if (sem_init(&client->turn, 0, 0))
			die("making the barrier of flow", flow->name, "", "no semaphore");
		flow->traffic->barrier = barrier;
		flow->traffic->place = barrier->count++;
	}
}

void barriers_prepare(struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		struct flow *flow = &plan->flows[i];

		if (flow->requests && flow->requests->barrier && !flow->traffic->barrier)
			prepare(plan, flow);
	}
}

static bool is_last(size_t *counted, size_t count)
{
	bool last;

	pthread_mutex_lock(&traffic_lock);
	last = ++*counted == count;
	if (last)
		*counted = 0;
	pthread_mutex_unlock(&traffic_lock);
	return last;
}

static void begin_round(struct barrier *barrier, uint64_t due_ns)
{
	if (due_ns > clock_now_ns() && !clock_wait(due_ns))
		return;
	barrier->due_ns = due_ns;
	barrier->begin_ns = clock_now_ns();
	sem_post(&barrier->clients[0].turn);
}

bool barrier_wait(const struct flow *flow, uint64_t *due_ns)
{
	struct barrier *barrier = flow->traffic->barrier;
	size_t place = flow->traffic->place;

	if (is_last(&barrier->ready, barrier->count))
		begin_round(barrier, *due_ns);
	while (sem_wait(&barrier->clients[place].turn))
		if (clock_interrupted())
			return false;
	*due_ns = barrier->due_ns;
	/* The next client runs when this one waits for its connection or its response. */
	if (place + 1 < barrier->count)
		sem_post(&barrier->clients[place + 1].turn);
	return true;
}

void barrier_note_response(const struct flow *flow, uint64_t ended_ns)
{
	struct barrier *barrier = flow->traffic->barrier;

	if (!is_last(&barrier->answered, barrier->count))
		return;
	for (size_t i = 0; i < barrier->count; i++)
		barrier->clients[i].flow->counters->rounds_completed++;
	probe_mark(EVENT_ROUND, barrier->clients[0].flow->id, ended_ns - barrier->begin_ns);
}
