/*
 * Stands between the caller and a guest kernel, so that nothing outlives either of them:
 *
 *     caller ==pipe==> guard --PDEATHSIG--> guest kernel --PTRACE_O_EXITKILL--> its processes
 *
 * Standard input is the caller's pipe: when it closes, the run was cancelled or the caller is dead.
 * The guest gets what makes runs repeatable (no address randomisation, one processor, a home
 * folder) and descriptor 5, the trace; a guest in which a program of the host runs also gets 6 and 7, that
 * program's output and errors, or 6 alone, its terminal. The report goes to descriptor 3 as one line of JSON.
 *
 * The copy of a started guest is a guest before its parent is a guard, which adopts it.
 */
#include "guest/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "system/fatal.h"

#define REPORT_FD     3
#define TRACE_FD      5
#define OUTPUT_FD     6 /* or the terminal */
#define ERRORS_FD     7
#define FIRST_PEER_FD 8
#define REAP_TRIES    200
#define REAP_PAUSE_NS 10000000

struct job {
	long cpu; /* -1: any */
	long wall_s;
	const char *directory;
	bool remove;
	const char *whole; /* the folder of a run in parts, to be removed with the directory */
	bool output;	   /* descriptors 6 and 7 are new files */
	bool terminal;	   /* descriptor 6 is the caller's, and stays */
	pid_t adopted;	   /* the guest, if it was there before its guard */
	long peers; /* so many pairs of descriptors from 8 on are the caller's: memory and doorbell of other parts */
	char **command;
};

enum reason { EXITED, CANCELLED, WALL_LIMIT };

static _Noreturn void usage(const char *what)
{
	die("starting the guard", "",
	    "longhaul-agent guard [--cpu N] [--wall-s N] [--remove] [--output | --terminal] [--peers N --whole DIR] --dir DIR -- LINUX ... | --adopt PID",
	    "%s", what);
}

static long number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < -1)
		usage("a whole number is expected");
	return value;
}

static bool is_switch(struct job *job, const char *name)
{
	if (!strcmp(name, "--remove"))
		job->remove = true;
	else if (!strcmp(name, "--output"))
		job->output = true;
	else if (!strcmp(name, "--terminal"))
		job->terminal = true;
	else
		return false;
	return true;
}

static struct job parse(int count, char **arguments)
{
	struct job job = {.cpu = -1, .wall_s = 3600};
	int i = 0;

	for (; i < count && strcmp(arguments[i], "--"); i++) {
		const char *name = arguments[i];

		if (is_switch(&job, name))
			continue;
		if (i + 1 == count)
			usage("a value is missing");
		i++;
		if (!strcmp(name, "--cpu"))
			job.cpu = number(arguments[i]);
		else if (!strcmp(name, "--wall-s"))
			job.wall_s = number(arguments[i]);
		else if (!strcmp(name, "--peers"))
			job.peers = number(arguments[i]);
		else if (!strcmp(name, "--adopt"))
			job.adopted = (pid_t)number(arguments[i]);
		else if (!strcmp(name, "--whole"))
			job.whole = realpath(arguments[i], NULL);
		else if (!strcmp(name, "--dir"))
			job.directory = arguments[i];
		else
			usage("unknown option");
	}
	if (!job.directory || (i + 1 >= count && job.adopted <= 0))
		usage("a directory and a kernel are needed");
	job.directory = realpath(job.directory, NULL);
	if (!job.directory)
		die("starting the guard", "the run directory", "", "%s", strerror(errno));
	job.command = arguments + i + 1;
	return job;
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void leave_no_core(void)
{
	struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none))
		die("limiting the guest", "", "", "%s", strerror(errno));
}

static void become_repeatable(const struct job *job)
{
	cpu_set_t cpus;

	/* Random gaps between the images of the kernel would change the size of the guest's RAM. */
	if (personality(ADDR_NO_RANDOMIZE) < 0)
		die("switching address randomisation off", "", "", "%s", strerror(errno));
	if (job->cpu < 0)
		return;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)job->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("pinning the guest", "", "name a processor this process may use",
		    "processor %ld: %s", job->cpu, strerror(errno));
}

static void make_home(void)
{
	char home[PATH_MAX];

	if (mkdir("home", 0700) && errno != EEXIST)
		die("making the guest's home", "home", "", "%s", strerror(errno));
	if (!realpath("home", home) || setenv("HOME", home, 1))
		die("making the guest's home", "home", "", "%s", strerror(errno));
}

/* Makes the file `name` the descriptor `at`. */
static void place_file(const char *name, int at)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || dup2(fd, at) < 0)
		die("opening", name, "", "%s", strerror(errno));
	if (fd != at)
		close(fd);
}

static void place_descriptors(const struct job *job)
{
	int nothing = open("/dev/null", O_RDWR);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
	    dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
		die("placing the guest's descriptors", "", "", "%s", strerror(errno));
	for (int fd = 3; fd < 64; fd++)
		if ((fd != OUTPUT_FD || !job->terminal) &&
		    (fd < FIRST_PEER_FD || fd >= FIRST_PEER_FD + 2 * job->peers))
			close(fd);
	place_file("trace.bin", TRACE_FD);
	if (job->output) {
		place_file("output.txt", OUTPUT_FD);
		place_file("errors.txt", ERRORS_FD);
	}
}

static _Noreturn void become_guest(const struct job *job, pid_t guard)
{
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(127); /* the guard died before the line above */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (chdir(job->directory))
		die("entering the run directory", job->directory, "", "%s", strerror(errno));
	make_home();
	place_descriptors(job);
	leave_no_core();
	become_repeatable(job);
	execv(job->command[0], job->command);
	die("starting the guest kernel", job->command[0], "", "%s", strerror(errno));
}

/* Signals as something to poll for; blocked first, so that none is lost around fork. */
static int watch_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die("starting the guard", "", "", "signalfd: %s", strerror(errno));
	return fd;
}

/* True when the caller has closed its end; what it may write is ignored. */
static bool is_closed(short events)
{
	char scrap[256];
	ssize_t got = 1;

	if (events & POLLIN)
		got = read(STDIN_FILENO, scrap, sizeof(scrap));
	return got == 0 || (!(events & POLLIN) && events & (POLLHUP | POLLERR | POLLNVAL));
}

static bool is_caller_gone(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) > 0 && is_closed(input.revents);
}

/* Waits for the first thing that ends the guest; `status` is set if it ended by itself. */
static enum reason watch(pid_t guest, int signals, double until_s, int *status)
{
	struct pollfd polls[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				 {.fd = signals, .events = POLLIN}};

	for (;;) {
		double left_s = until_s - now_s();
		struct signalfd_siginfo info;

		if (left_s <= 0)
			return WALL_LIMIT;
		if (poll(polls, 2, left_s > 1e6 ? 1000000000 : (int)(left_s * 1000) + 1) < 0 &&
		    errno != EINTR)
			die("watching the guest", "", "", "poll: %s", strerror(errno));
		while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				return CANCELLED;
		/* By its id: other children are the guest's orphans, reaped at the end. */
		if (waitpid(guest, status, WNOHANG) == guest)
			return EXITED;
		if (polls[0].revents && is_closed(polls[0].revents))
			return CANCELLED;
	}
}

/* All that is left of the guest: its group, then the orphans that the guard inherited. */
static void reap_rest(pid_t group)
{
	const struct timespec pause = {.tv_nsec = REAP_PAUSE_NS};

	for (int i = 0; i < REAP_TRIES; i++) {
		pid_t gone;

		kill(-group, SIGKILL);
		while ((gone = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
		if (gone < 0 && errno == ECHILD)
			return;
		nanosleep(&pause, NULL);
	}
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	remove(path); /* what cannot be removed stays; the rest goes */
	return 0;
}

/* Guards of other parts may remove the same folder at the same time, or their guests still write into it. */
static void remove_folder(const char *folder)
{
	const struct timespec pause = {.tv_nsec = REAP_PAUSE_NS};

	for (int i = 0; i < REAP_TRIES; i++) {
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		if (access(folder, F_OK))
			return;
		nanosleep(&pause, NULL);
	}
}

static void report(enum reason reason, int status, double wall_s)
{
	static const char *const names[] = {"exited", "cancelled", "wall_limit"};
	char exit_text[16] = "null", signal_text[16] = "null";
	struct rusage usage;

	if (WIFEXITED(status))
		snprintf(exit_text, sizeof(exit_text), "%d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		snprintf(signal_text, sizeof(signal_text), "%d", WTERMSIG(status));
	getrusage(RUSAGE_CHILDREN, &usage);
	dprintf(REPORT_FD,
		"{\"exit\": %s, \"signal\": %s, \"reason\": \"%s\", \"user_s\": %.6f, \"sys_s\": %.6f, "
		"\"wall_s\": %.6f, \"max_rss_kb\": %ld}\n",
		exit_text, signal_text, names[reason],
		(double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6,
		(double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6, wall_s,
		usage.ru_maxrss);
}

int guard_run(int count, char **arguments)
{
	struct job job = parse(count, arguments);
	int status = 0, signals = watch_signals();
	double begun_s = now_s();
	pid_t guard = getpid(), guest, ended;
	enum reason reason;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	guest = job.adopted ? job.adopted : fork();
	if (guest < 0)
		die("starting the guest", "", "", "fork: %s", strerror(errno));
	if (guest == 0)
		become_guest(&job, guard);
	setpgid(guest, guest);
	/* One that was adopted may have ended before its end could be noticed. */
	ended = waitpid(guest, &status, WNOHANG);
	if (ended < 0)
		die("adopting the guest", "", "", "process %d: %s", (int)guest, strerror(errno));
	reason = ended ? EXITED : watch(guest, signals, begun_s + (double)job.wall_s, &status);
	if (reason != EXITED) {
		kill(guest, SIGKILL);
		waitpid(guest, &status, 0);
	}
	reap_rest(guest);
	report(reason, status, now_s() - begun_s);
	/* A guest that loses the guests of other parts ends by itself, perhaps before its guard sees that the caller is gone. */
	if (job.remove && (reason == CANCELLED || is_caller_gone()))
		remove_folder(job.whole ? job.whole : job.directory);
	return 0;
}
