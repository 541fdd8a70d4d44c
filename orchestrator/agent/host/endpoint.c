/*
 * Commands of the controller, one a line:
 *
 *     look CC...                          a look at the machine           -> LOOK
 *     time N                              for its exchange of clocks      -> TIME
 *     reflect PORT                        answer probes from now on
 *     probe ADDRESS PORT COUNT GAP_US     probe the way there             -> ECHO
 *     plan RUN NODE BYTES, and the plan   prepare its run                 -> REDY, or STAT
 *     emulate RUN NODE BYTES, and queues  install them on devices here    -> REDY, or STAT
 *     start NS                            begin then, in time of this machine's monotonic clock -> TRCE ... FACT STAT
 *     end                                 put everything back             -> GONE
 *
 * Every command is a sign of life. When none came for as long as the limits allow, or the connection is closed, or the run takes longer
 * than it may, traffic is cut off, everything is put back, and this process ends: no user has to do it.
 */
#include "host/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/byte_quota.h"
#include "host/echo.h"
#include "host/frames.h"
#include "host/host_report.h"
#include "host/runs.h"
#include "host/worker.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "system/files.h"
#include "system/version.h"

#define MORE_NS	      (120 * NS_PER_S) /* beyond the longest run: preparation and end */
#define TICK_MS	      50
#define PIECE_BYTES   (256 << 10)
#define LARGEST_INPUT (8 << 20)
#define PATIENCE_NS   500000000ull /* of a worker that is asked to end */

static struct limits limits;
static int signals_fd, echo_fd = -1;
static uint64_t commanded_ns, begun_ns;
static char *input;
static size_t input_used;

/* ---- the run, once there is one ---- */
static const char *directory;
static pid_t worker; /* 0: none, or gone */
static int orders_fd = -1, answers_fd = -1;
static uint64_t trace_at, log_at;
static bool done; /* its facts and its status are sent */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static const char *in_run(const char *name)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* The bytes of a file that have not been sent; true if there were any. What is sent needs no room any more. */
static bool send_more(const char kind[4], const char *name, uint64_t *at)
{
	static char piece[PIECE_BYTES];
	int fd = directory && frames_empty() ? open(in_run(name), O_RDWR | O_CLOEXEC) : -1;
	ssize_t got;

	if (fd < 0)
		return false;
	got = pread(fd, piece, sizeof(piece), (off_t)*at);
	if (got > 0) {
		frame_send(kind, piece, (size_t)got);
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)*at, got);
		*at += (uint64_t)got;
	}
	close(fd);
	return got > 0;
}

/* All that is there, for as long as the controller reads. */
static void send_rest(void)
{
	uint64_t until_ns = now_ns(CLOCK_MONOTONIC) + 5 * NS_PER_S;

	while (now_ns(CLOCK_MONOTONIC) < until_ns) {
		struct pollfd one = {.fd = frames_fd(), .events = POLLOUT};

		if (!frames_empty()) {
			poll(&one, 1, TICK_MS);
			if (!frames_push())
				return;
		} else if (!send_more("LOGS", "log.txt", &log_at) &&
			   !send_more("TRCE", "trace.bin", &trace_at)) {
			return;
		}
	}
}

static void end_worker(void)
{
	uint64_t until_ns = now_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	const struct timespec pause = {.tv_nsec = 5000000};

	if (!worker)
		return;
	kill(worker, SIGTERM);
	while (waitpid(worker, NULL, WNOHANG) != worker) {
		if (now_ns(CLOCK_MONOTONIC) > until_ns)
			kill(worker, SIGKILL);
		nanosleep(&pause, NULL);
	}
	worker = 0;
}

/* Traffic ends here, whatever the reason, and the machine is as it was. */
static void put_back(void)
{
	struct writer writer;
	int left = 0;

	end_worker();
	if (directory) {
		send_rest();
		left = run_clear(directory);
	}
	directory = NULL;
	volume_add(echo_sent());
	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_unsigned(&writer, "left", (uint64_t)left);
	writer_end(&writer);
	frame_send_document("GONE", &writer);
	send_rest();
}

static void send_failure(struct writer *status)
{
	frame_send_document("STAT", status);
}

static void greet(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    file = open(LIMITS_FILE, O_RDONLY | O_CLOEXEC);
	uint32_t build = ~0u;
	static char piece[PIECE_BYTES];
	struct writer writer;
	ssize_t got;

	while ((got = read(fd, piece, sizeof(piece))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			build ^= (unsigned char)piece[i];
			for (int bit = 0; bit < 8; bit++)
				build = build >> 1 ^ (build & 1 ? 0xedb88320u : 0);
		}
	close(fd);
	got = read(file, piece, sizeof(piece) - 1);
	close(file);
	piece[got > 0 ? got : 0] = 0;
	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_text(&writer, "agent", AGENT_VERSION);
	writer_unsigned(&writer, "build", ~build);
	writer_text(&writer, "limits", piece);
	writer_end(&writer);
	frame_send_document("HELO", &writer);
}

static void start_worker(const char *node, bool emulates)
{
	int orders[2], answers[2],
		log = open(in_run("log.txt"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (log < 0 || pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		die("starting the worker", "", "", "%s", strerror(errno));
	worker = fork();
	if (worker < 0)
		die("starting the worker", "", "", "%s", strerror(errno));
	if (worker == 0) {
		die_reporting(NULL);
		die_after(NULL);
		dup2(nothing, STDIN_FILENO);
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		close(orders[1]);
		close(answers[0]);
		/* Frames are the supervisor's: with it gone, the other side must see the end of them. */
		close(frames_fd());
		worker_run(&limits, node, directory, emulates, orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	close(log);
	close(nothing);
	orders_fd = orders[1];
	answers_fd = answers[0];
}

static void prepare_plan(char *line, const char *plan, size_t length)
{
	char run[80], node[80];

	if (directory || sscanf(line, "%*s %79s %79s", run, node) != 2)
		die("preparing the plan", line, "",
		    "there is one already, or its arguments are wrong");
	directory = run_make(run);
	if (!write_whole_file(in_run("run.json"), plan, length))
		die("writing", in_run("run.json"), "see whether /run is full", "%s",
		    strerror(errno));
	start_worker(node, *line == 'e');
}

static void send_times(const char *line)
{
	uint64_t received = now_ns(CLOCK_MONOTONIC), number;
	char text[120];
	int length;

	if (sscanf(line, "time %" SCNu64, &number) != 1)
		die("reading the command", line, "", "a number is missing");
	length = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
			  number, received, now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_REALTIME));
	frame_send("TIME", text, (size_t)length);
}

static void give_start(const char *line)
{
	uint64_t at_ns;

	if (orders_fd < 0 || sscanf(line, "start %" SCNu64, &at_ns) != 1 ||
	    write(orders_fd, &at_ns, sizeof(at_ns)) != sizeof(at_ns))
		die("giving the start", line, "", "no plan waits for one");
}

static bool brings_plan(const char *line)
{
	return !strncmp(line, "plan ", 5) || !strncmp(line, "emulate ", 8);
}

/* False when this was the last command. */
static bool obey(char *line, const char *rest, size_t length)
{
	char address[64];
	uint32_t port, count, gap_us;

	if (!strncmp(line, "look", 4)) {
		look(&limits, line + 4);
	} else if (!strncmp(line, "time ", 5)) {
		send_times(line);
	} else if (sscanf(line, "reflect %u", &port) == 1) {
		if (echo_fd >= 0)
			close(echo_fd);
		echo_fd = echo_open(&limits, (uint16_t)port);
	} else if (sscanf(line, "probe %63s %u %u %u", address, &port, &count, &gap_us) == 4) {
		echo_probe(&limits, address, (uint16_t)port, count, gap_us);
	} else if (brings_plan(line)) {
		prepare_plan(line, rest, length);
	} else if (!strncmp(line, "start ", 6)) {
		give_start(line);
	} else if (!strcmp(line, "end")) {
		return false;
	} else {
		die("reading the command", line, "the controller may be of another version",
		    "it is unknown");
	}
	commanded_ns = now_ns(CLOCK_MONOTONIC);
	return true;
}

/* Obeys one whole command of the input; false when there is none, or when it was the last. */
static bool next_command(bool *last)
{
	char *newline = input_used ? memchr(input, '\n', input_used) : NULL;
	size_t length, body = 0;

	if (!newline)
		return false;
	*newline = 0;
	length = (size_t)(newline - input) + 1;
	if (brings_plan(input)) {
		const char *blank = strrchr(input, ' ');

		body = strtoul(blank, NULL, 10);
		if (body > LARGEST_INPUT)
			die("reading the command", input, "", "its plan is too large");
		if (length + body > input_used) {
			*newline = '\n';
			return false;
		}
	}
	*last = !obey(input, input + length, body);
	memmove(input, input + length + body, input_used - length - body);
	input_used -= length + body;
	return !*last;
}

/* False when the connection is closed. */
static bool read_input(void)
{
	ssize_t got;

	if (input_used == LARGEST_INPUT + 4096)
		die("reading commands", "", "", "one is too long");
	got = read(STDIN_FILENO, input + input_used, LARGEST_INPUT + 4096 - input_used);
	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	input_used += (size_t)got;
	return got > 0;
}

static void read_answer(void)
{
	char answer;

	if (read(answers_fd, &answer, 1) != 1) {
		close(answers_fd);
		answers_fd = -1;
		return;
	}
	if (answer == WORKER_READY) {
		frame_send("REDY", "", 0);
	} else {
		send_rest();
		frame_send_file("FACT", in_run("facts.json"));
		frame_send_file("STAT", in_run("status.json"));
		done = true;
	}
}

/* A worker that ended early has written the reason into its status, unless it was killed. */
static void see_worker_end(void)
{
	int status;

	if (!worker || waitpid(worker, &status, WNOHANG) != worker)
		return;
	worker = 0;
	if (done)
		return;
	send_rest();
	done = true;
	if (!access(in_run("status.json"), F_OK)) {
		frame_send_file("STAT", in_run("status.json"));
	} else {
		struct writer writer;
		char what[80];

		snprintf(what, sizeof(what),
			 WIFSIGNALED(status) ? "its worker was ended by signal %d"
					     : "its worker ended with code %d",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		writer_open(&writer);
		writer_object(&writer, NULL);
		writer_text(&writer, "status", "failed");
		writer_text(&writer, "attempting", "running on");
		writer_text(&writer, "subject", limits.host);
		writer_text(&writer, "what", what);
		writer_text(&writer, "hint", "see whether a user stopped it, or memory ran out");
		writer_end(&writer);
		frame_send_document("STAT", &writer);
	}
}

static void watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals_fd < 0)
		die("watching signals", "", "", "%s", strerror(errno));
}

static bool asked_to_end(void)
{
	struct signalfd_siginfo info;
	bool asked = false;

	while (read(signals_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		asked |= info.ssi_signo != SIGCHLD;
	return asked;
}

static const char *was_silent(void)
{
	static char why[80];

	snprintf(why, sizeof(why), "the controller was silent for %" PRIu64 " s",
		 limits.silence_us / 1000000);
	return why;
}

/* Why it is over: NULL if the controller ended it. */
static const char *serve(void)
{
	for (;;) {
		struct pollfd polls[] = {
			{.fd = STDIN_FILENO, .events = POLLIN},
			{.fd = signals_fd, .events = POLLIN},
			{.fd = answers_fd, .events = POLLIN},
			{.fd = echo_fd, .events = POLLIN},
			{.fd = frames_empty() ? -1 : frames_fd(), .events = POLLOUT},
		};
		uint64_t now;
		bool last = false;

		poll(polls, 5, worker && !done ? TICK_MS : 1000);
		if (polls[1].revents && asked_to_end())
			return "it was asked to stop on this host";
		if (polls[0].revents && !read_input())
			return "the controller has closed the connection";
		while (next_command(&last))
			continue;
		if (last)
			return NULL;
		if (polls[2].revents)
			read_answer();
		if (polls[3].revents)
			echo_answer(&limits, echo_fd);
		see_worker_end();
		if (!frames_push())
			return "the controller no longer reads what this host sends";
		if (!done && !send_more("LOGS", "log.txt", &log_at))
			send_more("TRCE", "trace.bin", &trace_at);
		now = now_ns(CLOCK_MONOTONIC);
		if (now > commanded_ns + limits.silence_us * NS_PER_US)
			return was_silent();
		if (directory && now > begun_ns + limits.longest_us * NS_PER_US + MORE_NS)
			return "it took longer than a run may";
	}
}

_Noreturn void endpoint_run(void)
{
	const char *why;

	frames_open();
	die_reporting(send_failure);
	die_after(send_rest);
	limits_read(&limits);
	host_claim();
	runs_sweep();
	watch_signals();
	die_after(put_back);
	input = need_memory(LARGEST_INPUT + 4096, 1);
	commanded_ns = begun_ns = now_ns(CLOCK_MONOTONIC);
	greet();
	why = serve();
	if (why)
		die("running on", limits.host, "", "%s", why);
	leave(0);
}
