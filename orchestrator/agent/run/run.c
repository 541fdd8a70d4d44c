/*
 * One run, from an empty kernel to its facts:
 *
 *     modules (-> copies of a template) -> nodes, wires, sysctls, queues -> sockets -> time zero
 *             -> flows and scheduled changes -> counters -> facts.json
 *
 * All files are named from the current folder, which is the run directory as this process sees it.
 */
#include "run/run.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "net/links.h"
#include "net/modules.h"
#include "net/nodes.h"
#include "net/qdisc.h"
#include "net/recordings.h"
#include "net/sysctl.h"
#include "run/facts.h"
#include "run/part.h"
#include "run/schedule.h"
#include "run/snapshot.h"
#include "run/template.h"
#include "system/clock.h"
#include "system/cpu_budget.h"
#include "system/fatal.h"
#include "system/threads.h"
#include "trace/probe.h"
#include "traffic/flows.h"
#include "traffic/iperf3_server.h"

#define GRACE_US	 60000000ull /* time that set-up and end may take together */
#define OPEN_FILES_LIMIT 65536

/* As far as this machine allows: in a guest to what is asked, on a host perhaps to less. */
static void raise_open_files(void)
{
	struct rlimit files = {OPEN_FILES_LIMIT, OPEN_FILES_LIMIT};

	if (!setrlimit(RLIMIT_NOFILE, &files))
		return;
	if (getrlimit(RLIMIT_NOFILE, &files))
		die("reading the limit of open files", "", "", "%s", strerror(errno));
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("raising the limit of open files", "", "", "%s", strerror(errno));
}

void run_prepare(void)
{
	/* A peer that is gone is an error of a system call, not a death. */
	signal(SIGPIPE, SIG_IGN);
	raise_open_files();
	/* Sleepers wake when they asked to, not up to 50 us later to save power. */
	if (prctl(PR_GET_TIMERSLACK) > 1 && prctl(PR_SET_TIMERSLACK, 1ul))
		die("making timers exact", "", "", "%s", strerror(errno));
}

/* A guest in which everything waits forever would race through time without end. */
static void *watch_deadline(void *argument)
{
	const struct plan *plan = argument;

	clock_wait_surely(clock_now_ns() + (plan->duration_us + GRACE_US) * NS_PER_US);
	die("running the experiment", "", "the log may say where it hangs",
	    "not over %llu seconds after its end", GRACE_US / 1000000);
}

void run_set_up(struct plan *plan)
{
	sysctl_of_log(plan, true);
	modules_load(plan);
	template_serve(plan);
	part_prepare(plan);
	/* Bridges log four lines a port, and there may be thousands. */
	sysctl_of_log(plan, false);
	sysctls_of_guest(plan);
	nodes_create(plan);
	/* Before there are devices: none may send a packet of its own. */
	sysctls_of_nodes(plan);
	links_create(plan);
	qdiscs_install(plan);
	recordings_load(plan);
	sysctl_of_log(plan, true);
}

/* From here on this thread runs only when nothing else wants to: after all work of an instant. */
static void go_last(void)
{
	struct sched_param none = {0};

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		die("lowering the agent's priority", "", "", "%s", strerror(errno));
}

/*
 * Kernels round times to whole ticks since their boot, so time zero is the same in one guest and in several: after the longest
 * set-up of so many wires, each of which takes some 17 ms of virtual time in a guest that has both its ends.
 */
#define WIRES_A_SECOND 32

static uint64_t choose_epoch(const struct plan *plan)
{
	uint64_t chosen_ns = clock_choose_epoch(),
		 least_ns = (2 + plan->wire_count / WIRES_A_SECOND) * NS_PER_S;

	return plan->real_clock || chosen_ns > least_ns ? chosen_ns : least_ns;
}

void run_execute(struct plan *plan)
{
	struct snapshot snapshot;
	struct probe_report report;

	if (!plan->real_clock)
		clock_set_virtual();
	thread_start(watch_deadline, plan);
	run_set_up(plan);
	flows_prepare(plan);
	clock_set_epoch(part_agree_epoch(plan, choose_epoch(plan)));
	recordings_begin(plan, clock_epoch_ns());
	probe_start(plan, clock_epoch_ns());
	if (plan->real_clock)
		budget_start();
	flows_start(plan);
	schedule_follow(plan);
	/* In real time an instant has no end, and the last thread may never run. */
	if (!plan->real_clock)
		go_last();
	clock_wait_surely(plan->duration_us * NS_PER_US);
	if (plan->real_clock)
		budget_stop();
	iperf3_await_counts(plan);
	snapshot_take(plan, &snapshot);
	flows_count(plan);
	part_end(plan);
	/* The kernel may let a sender sleep for a moment before it says that it has stopped. */
	if (!plan->real_clock)
		flows_settle(plan);
	flows_note_end(plan);
	probe_mark(EVENT_END, NO_FLOW, 0);
	probe_flush();
	probe_report(plan, &report);
	iperf3_finish(plan);
	facts_write(plan, &snapshot, &report);
}
