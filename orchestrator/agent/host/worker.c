/*
 * The worker is a separate process under a supervisor (endpoint.c), which watches it and puts back what it has changed.
 * If the supervisor is killed, a signal reaches the worker: it cuts its traffic off and has everything put back itself.
 */
#include "host/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "host/byte_quota.h"
#include "host/middle_box.h"
#include "host/restore.h"
#include "host/runs.h"
#include "net/nodes.h"
#include "plan/run_json.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/schedule.h"
#include "run/snapshot.h"
#include "system/clock.h"
#include "system/cpu_budget.h"
#include "system/fatal.h"
#include "system/files.h"
#include "system/threads.h"
#include "trace/probe.h"
#include "traffic/flow.h"
#include "traffic/flows.h"
#include "traffic/governor.h"

#define PLAN	  "run.json"
#define STATUS	  "status.json"
#define LATEST_NS 5000000 /* a start that is over for longer is missed */

static struct plan the_plan;
static const char *run_directory;
static pid_t supervisor;

static void forget_traffic(void)
{
	flows_abort(&the_plan);
}

/* The sockets of this process hold modules; they are gone when it is. */
static void have_all_put_back(void)
{
	const struct timespec pause = {.tv_nsec = 200000000};

	if (fork())
		return;
	close_range(3, ~0u, 0);
	nanosleep(&pause, NULL);
	run_clear(run_directory);
	_exit(0);
}

static void *await_signal(void *unused)
{
	sigset_t set;
	int number;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigwait(&set, &number);
	forget_traffic();
	if (getppid() != supervisor)
		have_all_put_back();
	_exit(0);
}

static void *watch_deadline(void *unused)
{
	(void)unused;
	clock_wait_surely((the_plan.duration_us + 60000000) * NS_PER_US);
	die("running the experiment", "", "the log may say where it hangs",
	    "not over 60 seconds after its end");
}

static struct node *find_node(const char *name)
{
	struct node *found = NULL;

	for (size_t i = 0; i < the_plan.node_count; i++) {
		struct node *node = &the_plan.nodes[i];

		node->elsewhere = strcmp(node->name, name) != 0;
		found = node->elsewhere ? found : node;
		if (!node->host_address.s_addr)
			die("reading the plan", node->name, "", "it is no real host");
	}
	if (!found)
		die("reading the plan", name, "", "it has no such node");
	return found;
}

static void answer(int fd, char word)
{
	if (write(fd, &word, 1) != 1)
		die("answering the supervisor", "", "", "%s", strerror(errno));
}

static uint64_t wait_for_start(int fd)
{
	uint64_t at_ns, now_ns;

	if (read(fd, &at_ns, sizeof(at_ns)) != sizeof(at_ns))
		die("waiting for the start", "", "", "the supervisor gave none");
	clock_set_epoch(0);
	now_ns = clock_now_ns();
	if (now_ns > at_ns + LATEST_NS)
		die("starting at the agreed time", "", "the connection may be too slow",
		    "it was over by %" PRIu64 " ms", (now_ns - at_ns) / 1000000);
	return at_ns;
}

static void prepare(const struct limits *limits, const char *name)
{
	struct node *node;

	plan_read(PLAN, &the_plan);
	the_plan.resets_at_end = true;
	node = find_node(name);
	limits_hold(limits, &the_plan, node);
	undo_load_controls(&the_plan, node);
	for (size_t i = 0; i < the_plan.module_count; i++)
		undo_set_parameters(&the_plan.modules[i]);
	nodes_adopt(&the_plan);
	governor_prepare(&the_plan, node, limits->rate_bps, limits->run_bytes);
	flows_unmarked();
	flows_prepare(&the_plan);
}

static void run_share(const struct limits *limits, uint64_t start_ns)
{
	uint64_t seen = volume_today();
	struct snapshot snapshot;
	struct probe_report report;

	clock_set_epoch(start_ns);
	thread_start(watch_deadline, NULL);
	probe_start(&the_plan, start_ns);
	budget_start();
	governor_start(seen < limits->day_bytes ? limits->day_bytes - seen : 0);
	flows_start(&the_plan);
	schedule_follow(&the_plan);
	clock_wait_surely(the_plan.duration_us * NS_PER_US);
	budget_stop();
	snapshot_take(&the_plan, &snapshot);
	flows_settle(&the_plan);
	flows_count(&the_plan);
	probe_mark(EVENT_END, NO_FLOW, 0);
	probe_flush();
	probe_report(&the_plan, &report);
	facts_write(&the_plan, &snapshot, &report);
}

_Noreturn void worker_run(const struct limits *limits, const char *node, const char *directory,
			  bool emulates, int orders_fd, int answers_fd)
{
	static const char done[] = "{\"status\": \"done\"}\n";
	sigset_t set;
	char rest;

	supervisor = getppid();
	run_directory = directory;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (chdir(directory))
		die("entering the run directory", directory, "", "%s", strerror(errno));
	die_in_run();
	die_after(forget_traffic);
	run_prepare();
	thread_start(await_signal, NULL);
	if (emulates)
		box_prepare(limits);
	else
		prepare(limits, node);
	answer(answers_fd, WORKER_READY);
	if (emulates)
		box_run(wait_for_start(orders_fd));
	else
		run_share(limits, wait_for_start(orders_fd));
	if (!write_whole_file(STATUS, done, sizeof(done) - 1))
		die("writing", STATUS, "", "%s", strerror(errno));
	answer(answers_fd, WORKER_DONE);
	/* Receivers stay until the senders have finished, whose clocks differ a little. */
	while (read(orders_fd, &rest, 1) > 0)
		continue;
	leave(0);
}
