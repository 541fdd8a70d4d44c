/*
 * One run, from the guest's first process to its last:
 *
 *     mount -> plan -> modules -> nodes, wires, sysctls, queues -> sockets -> time zero
 *           -> flows and scheduled changes -> counters -> facts.json -> status.json -> power off
 *
 * Whatever fails on the way ends in status.json too (die.h).
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "die.h"
#include "facts.h"
#include "flows.h"
#include "iperf3.h"
#include "links.h"
#include "plan.h"
#include "probe.h"
#include "qdisc.h"
#include "schedule.h"
#include "sysctl.h"

#define PLAN		 "/run.json"
#define GRACE_US	 60000000ull /* virtual time that set-up and end may take together */
#define OPEN_FILES_LIMIT 65536

static void mount_all(void)
{
	static const char *const mounts[][2] = {
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++)
		/* A kernel may have mounted /dev by itself. */
		if (mount(mounts[i][0], mounts[i][1], mounts[i][0], 0, NULL) && errno != EBUSY)
			die("mounting", mounts[i][1],
			    "the guest's folder must be there and the kernel know it", "%s",
			    strerror(errno));
}

/* The root of the guest has no /dev when the kernel looks for a console for its first process. */
static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	for (int i = 0; i < 3 && fd >= 0; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
}

static void raise_limits(void)
{
	struct rlimit files = {OPEN_FILES_LIMIT, OPEN_FILES_LIMIT};

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("raising the limit of open files", "", "", "%s", strerror(errno));
	/* Sleepers wake when they asked to, not up to 50 us later to save power. */
	if (prctl(PR_SET_TIMERSLACK, 1ul))
		die("making timers exact", "", "", "%s", strerror(errno));
}

/* A guest in which everything waits for ever would race through time without end. */
static void *watch_deadline(void *argument)
{
	const struct plan *plan = argument;

	clock_wait_surely((plan->duration_us + GRACE_US) * NS_PER_US);
	die("running the experiment", "", "the console log may say where it hangs",
	    "not over %llu virtual seconds after its end", GRACE_US / 1000000);
}

/* For programs of the host that the backend has put here: their libraries, and where their temporary files go. */
static void make_programs_at_home(void)
{
	if (setenv("PATH", "/bin", 1) || setenv("LD_LIBRARY_PATH", "/lib", 1) ||
	    setenv("TMPDIR", "/run", 1))
		die("setting the environment of programs", "", "", "%s", strerror(errno));
}

static void set_up(struct plan *plan)
{
	modules_load(plan);
	sysctls_of_guest(plan);
	nodes_create(plan);
	/* Before there are devices: none may say a word of its own. */
	sysctls_of_nodes(plan);
	links_create(plan);
	qdiscs_install(plan);
	flows_prepare(plan);
}

/* From here on this thread runs only when nothing else wants to: after all work of an instant. */
static void go_last(void)
{
	struct sched_param none = {0};

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		die("lowering the agent's priority", "", "", "%s", strerror(errno));
}

_Noreturn void guest_run(void)
{
	static struct plan plan;
	struct snapshot snapshot;
	struct probe_report report;

	die_as_guest();
	/* A peer that is gone is an error of a system call, not a death. */
	signal(SIGPIPE, SIG_IGN);
	mount_all();
	open_console();
	raise_limits();
	clock_set_virtual();
	make_programs_at_home();
	plan_read(PLAN, &plan);
	thread_start(watch_deadline, &plan);
	set_up(&plan);
	probe_start(&plan, clock_choose_epoch());
	flows_start(&plan);
	schedule_follow(&plan);
	go_last();
	clock_wait_surely(plan.duration_us * NS_PER_US);
	iperf3_await_counts(&plan);
	facts_snapshot(&plan, &snapshot);
	flows_count(&plan);
	probe_mark(EVENT_END, NO_FLOW, 0);
	probe_flush();
	probe_report(&plan, &report);
	iperf3_finish(&plan);
	facts_write(&plan, &snapshot, &report);
	finish();
}
