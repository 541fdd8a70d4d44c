/*
 * A flow of a program, from its first process to its last:
 *
 *     before time zero   worlds are made; the server runs and listens, the client waits at its gate
 *     start              the gate opens, and the client's process becomes the program
 *     its end            with code 0 the flow is complete; any other end of client or server is the end of the run
 *     stop               the client and all that it has started are killed, and its connections end with a reset
 *
 * What a program prints goes to programs/<flow>.<side>.out and .err. An error of it has the last line that it printed, and the log
 * the last lines.
 */
#include "traffic/programs.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/nodes.h"
#include "plan/fields.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "system/json_file.h"
#include "system/world.h"
#include "traffic/children.h"
#include "traffic/flow.h"
#include "traffic/program_sockets.h"

#define FOLDER	 "programs"
#define DOCUMENT "world.json"
#define READ_IT	 "its log has the end of what it printed"

/* How long a server may take to listen, and how often it is looked at: at first often, as it costs no time to compute. */
#define PATIENCE_NS	 (30 * NS_PER_S)
#define LEAST_PAUSE_NS	 (100 * NS_PER_US)
#define LARGEST_PAUSE_NS (10000 * NS_PER_US)

#define OPEN_FILES   1024
#define LINE_BYTES   200
#define END_BYTES    4096
#define CANNOT_START 127
/* It is an error if more than this share of the data was sent when the probe sees no ACK. */
#define UNSEEN_SHARE 100
#define KILLS	     1000

static const char *const side_names[] = {[PROGRAM_SERVER] = "server", [PROGRAM_CLIENT] = "client"};
static char **environment;

static bool is_first(const struct flow *flow)
{
	return flow->kind == FLOW_PROGRAM && flow->program;
}

/* ---- a process that becomes a program ---- */

static void output_path(const struct flow *flow, enum program_side side, const char *kind,
			char *path, size_t size)
{
	snprintf(path, size, FOLDER "/%s.%s.%s", flow->name, side_names[side], kind);
}

static void open_output(const struct flow *flow, enum program_side side, const char *kind, int fd)
{
	char path[128];
	int opened;

	output_path(flow, side, kind, path, sizeof(path));
	opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
	if (opened < 0 || dup2(opened, fd) < 0)
		die("opening", path, "the backend makes its folder", "%s", strerror(errno));
	close(opened);
}

/* All hosts by their names, and the two ends of this flow as `server` and `client`. */
static char *hosts_text(const struct flow *flow)
{
	const struct plan *plan = flow->traffic->plan;
	const struct programs *program = flow->program;
	size_t size = 256 + 2 * plan->wire_count * 128, used;
	char *text = need_memory(size, 1), address[INET_ADDRSTRLEN];

	used = (size_t)snprintf(text, size, "127.0.0.1 localhost\n");
	inet_ntop(AF_INET, &program->server_address, address, sizeof(address));
	used += (size_t)snprintf(text + used, size - used, "%s server\n", address);
	inet_ntop(AF_INET, &program->client_address, address, sizeof(address));
	used += (size_t)snprintf(text + used, size - used, "%s client\n", address);
	for (size_t i = 0; i < 2 * plan->wire_count; i++) {
		const struct end *end = &plan->wires[i / 2].ends[i % 2];

		if (!end->prefix || used >= size)
			continue;
		inet_ntop(AF_INET, &end->address, address, sizeof(address));
		used += (size_t)snprintf(text + used, size - used, "%s %s\n", address,
					 end->node->name);
	}
	return text;
}

/* What a process has from the agent and a program does not expect. */
static void become_ordinary(void)
{
	struct rlimit files = {OPEN_FILES, OPEN_FILES}, size;
	struct sysinfo memory;
	sigset_t none;

	setsid();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
	/* No file of the guest can be larger than its memory; so none of this machine is, where its output goes. */
	if (!sysinfo(&memory)) {
		size.rlim_cur = size.rlim_max = memory.totalram * memory.mem_unit;
		setrlimit(RLIMIT_FSIZE, &size);
	}
}

static void await_gate(int gate)
{
	char byte;

	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		continue;
	close(gate);
}

static _Noreturn void become(const struct flow *flow, enum program_side side, int gate)
{
	const struct programs *program = flow->program;
	const char *show[] = {program->folder};
	struct world world = {show, program->folder ? 1 : 0, false, hosts_text(flow)};
	char **words = side == PROGRAM_SERVER ? program->server : program->client;
	const char *host =
		((side == PROGRAM_SERVER) == program->server_sends ? flow->from : flow->to)->name;
	const char *folder = program->folder ? program->folder : "/tmp";
	int problem, nothing = open("/dev/null", O_RDONLY);

	become_ordinary();
	open_output(flow, side, "out", STDOUT_FILENO);
	open_output(flow, side, "err", STDERR_FILENO);
	dup2(nothing, STDIN_FILENO);
	close(nothing);
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) || sethostname(host, strlen(host)))
		die("making a world for flow", flow->name, "", "%s", strerror(errno));
	world_enter(&world);
	problem = program_sockets_take(flow, side);
	if (gate >= 0)
		await_gate(gate);
	if (!problem && chdir(folder))
		problem = errno;
	if (!problem) {
		environ = environment;
		execvp(words[0], words);
		problem = errno;
	}
	dprintf(STDERR_FILENO, "starting %s in %s: %s\n", words[0], folder, strerror(problem));
	_exit(CANNOT_START);
}

static pid_t start(const struct flow *flow, enum program_side side, int gate, int other_end)
{
	pid_t pid;

	enter_node((side == PROGRAM_SERVER) == flow->program->server_sends ? flow->from : flow->to);
	pid = fork();
	if (pid == 0) {
		if (other_end >= 0)
			close(other_end);
		become(flow, side, gate);
	}
	leave_node();
	if (pid < 0)
		die("starting a program of flow", flow->name, "", "fork: %s", strerror(errno));
	return pid;
}

/* ---- how one ended ---- */

/* The end of what a side printed, with what can be printed of it; false if there is nothing. */
static bool read_end(const struct flow *flow, enum program_side side, const char *kind, char *text)
{
	char path[128];
	off_t size;
	ssize_t got;
	int fd;

	output_path(flow, side, kind, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	got = fd < 0 ? -1
		     : pread(fd, text, END_BYTES - 1, size < END_BYTES ? 0 : size - END_BYTES + 1);
	if (fd >= 0)
		close(fd);
	while (got > 0 && isspace((unsigned char)text[got - 1]))
		got--;
	for (ssize_t i = 0; i < got; i++)
		if (text[i] != '\n' && !isprint((unsigned char)text[i]))
			text[i] = ' ';
	if (got > 0)
		text[got] = 0;
	return got > 0;
}

/* Both sides, as a server may say why its client failed. */
static void log_ends(const struct flow *flow)
{
	static const char *const kinds[] = {"out", "err"};

	for (enum program_side side = PROGRAM_SERVER; side <= PROGRAM_CLIENT; side++)
		for (size_t i = 0; i < COUNT(kinds); i++) {
			char text[END_BYTES], *rest = text, *line;

			if (!read_end(flow, side, kinds[i], text))
				continue;
			say("flow %s: what its %s printed last (%s):", flow->name, side_names[side],
			    kinds[i]);
			while ((line = strsep(&rest, "\n")))
				say("    %s", line);
		}
}

/* An error of a side: how it ended, and the last line that it printed. */
static _Noreturn void die_of(const struct flow *flow, enum program_side side, int status,
			     const char *when)
{
	char text[END_BYTES] = "", subject[128];
	bool printed = read_end(flow, side, "err", text) || read_end(flow, side, "out", text);
	const char *line = strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
	bool signalled = WIFSIGNALED(status);

	log_ends(flow);
	snprintf(subject, sizeof(subject), "%s of flow %s", side_names[side], flow->name);
	die("running the", subject, READ_IT, "it ended with %s %d%s%s%.*s",
	    signalled ? "signal" : "code", signalled ? WTERMSIG(status) : WEXITSTATUS(status), when,
	    printed ? ": " : "", LINE_BYTES, line);
}

/* Whether a server has ended, and how; it is not waited for. */
static bool has_ended(pid_t pid, int *status)
{
	return !child_runs(pid) && child_wait(pid, status);
}

/* A server may leave a process that serves, or serve once: code 0 is no error. */
static void check_server(struct flow *flow, const char *when)
{
	int status;

	if (!flow->traffic->server || !has_ended(flow->traffic->server, &status))
		return;
	flow->traffic->server = 0;
	if (status)
		die_of(flow, PROGRAM_SERVER, status, when);
}

/* ---- before time zero ---- */

static _Noreturn void die_deaf(const struct flow *flow)
{
	log_ends(flow);
	die("starting the server of flow", flow->name, READ_IT,
	    "%sit listened on no TCP port of its host within %llu s of virtual time",
	    flow->traffic->server ? "" : "its first process ended, and ", PATIENCE_NS / NS_PER_S);
}

static void await_listener(struct flow *flow)
{
	uint64_t begun_ns = clock_now_ns(), pause_ns = LEAST_PAUSE_NS;

	while (!program_sockets_look(flow).listening) {
		check_server(flow, " before it listened");
		if (clock_now_ns() - begun_ns > PATIENCE_NS)
			die_deaf(flow);
		clock_wait(clock_now_ns() + pause_ns);
		pause_ns = 2 * pause_ns < LARGEST_PAUSE_NS ? 2 * pause_ns : LARGEST_PAUSE_NS;
	}
}

static void prepare(struct flow *flow)
{
	int gate[2];

	if (pipe2(gate, O_CLOEXEC))
		die("making the gate of flow", flow->name, "", "%s", strerror(errno));
	program_sockets_add(flow);
	flow->traffic->server = start(flow, PROGRAM_SERVER, -1, -1);
	flow->traffic->client = start(flow, PROGRAM_CLIENT, gate[0], gate[1]);
	flow->traffic->gate = gate[1];
	close(gate[0]);
}

void programs_prepare(struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		if (!is_first(&plan->flows[i]))
			continue;
		if (!environment)
			environment = fields_texts(
				json_read_file(DOCUMENT, "reading the environment of programs"));
		prepare(&plan->flows[i]);
	}
	for (size_t i = 0; i < plan->flow_count; i++)
		if (is_first(&plan->flows[i]))
			await_listener(&plan->flows[i]);
}

/* ---- while the run lasts ---- */

void *program_await_thread(void *argument)
{
	program_sockets_await(argument);
	flow_connected(argument);
	return NULL;
}

/* The processes whose files are those of this one, this one included; 0 if they are gone. */
static int kill_world(const struct stat *world)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int killed = 0;

	while (processes && (entry = readdir(processes))) {
		char path[64];
		struct stat found;
		long pid = strtol(entry->d_name, NULL, 10);

		snprintf(path, sizeof(path), "/proc/%ld/ns/mnt", pid);
		if (pid <= 1 || stat(path, &found) || found.st_ino != world->st_ino)
			continue;
		kill((pid_t)pid, SIGKILL);
		killed++;
	}
	if (processes)
		closedir(processes);
	return killed;
}

/* All that a side has started, whatever it has made of itself. */
static void end_world(const struct stat *world)
{
	for (int tries = 0; tries < KILLS && kill_world(world); tries++)
		sched_yield();
}

/* The error of a flow whose connections are not what its measures need. */
static void check_connections(const struct flow *flow)
{
	struct program_totals totals = program_sockets_look(flow);

	if (totals.most > flow->program->connections)
		die("measuring flow", flow->name, "raise command.connections of the flow",
		    "its programs had %u connections at once, and command.connections is %u",
		    totals.most, flow->program->connections);
	if (totals.elsewhere)
		die("measuring flow", flow->name, "give each pair of hosts a flow of its own",
		    "its programs made %u connections with a host that is not of the flow",
		    totals.elsewhere);
}

static void judge_end(struct flow *flow, int status)
{
	check_server(flow, " before its client had ended");
	if (status)
		die_of(flow, PROGRAM_CLIENT, status, "");
	check_connections(flow);
	if (program_sockets_look(flow).connections)
		return;
	log_ends(flow);
	die("measuring flow", flow->name, READ_IT,
	    "its client ended with code 0 without a TCP connection from host to host, and only those are measured");
}

static _Noreturn void die_unfinished(struct flow *flow)
{
	struct program_totals totals = program_sockets_look(flow);
	bool sends = !flow->program->server_sends;

	check_server(flow, " before its client had ended");
	log_ends(flow);
	program_sockets_count(flow);
	die("running the client of flow", flow->name,
	    "give the flow a `stop` if that is meant, or the run a longer duration",
	    "it had not ended at the end of the run%s; it had %s %llu bytes over %u connection%s",
	    flow->traffic->server ? "" : ", and its server had", sends ? "sent" : "received",
	    (unsigned long long)flow->counters->bytes_received, totals.connections,
	    totals.connections == 1 ? "" : "s");
}

/* Each of its connections is a flow, with events of its own. */
static void note_end(struct flow *flow, bool ended)
{
	for (uint32_t i = 0; i < flow->program->connections; i++) {
		if (ended)
			flow_completed(flow + i);
		flow_stopped(flow + i);
	}
}

static void run(struct flow *flow)
{
	struct traffic *traffic = flow->traffic;
	bool ended = false;
	char path[64];
	struct stat world;
	int status = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", traffic->client);
	if (stat(path, &world))
		die("running the client of flow", flow->name, READ_IT,
		    "it is gone before its start");
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	if (write(traffic->gate, "", 1) != 1)
		die("starting the client of flow", flow->name, READ_IT, "%s", strerror(errno));
	close(traffic->gate);
	while (!ended && !clock_interrupted())
		ended = child_wait(traffic->client, &status);
	clock_interrupt_never();
	if (ended)
		judge_end(flow, status);
	else if (flow->stop_us == NEVER)
		die_unfinished(flow);
	check_server(flow, " before the end of the flow");
	if (!ended && !flow_lasts(flow))
		program_sockets_reset(flow);
	if (ended || !flow_lasts(flow))
		end_world(&world);
	note_end(flow, ended);
}

void *program_run_thread(void *argument)
{
	struct flow *flow = argument;

	if (!flow->program)
		return NULL;
	clock_wait(flow->start_us * NS_PER_US);
	run(flow);
	return NULL;
}

/* ---- counts ---- */

void program_count(struct flow *flow)
{
	const struct flow_counters *counters = flow->counters;

	if (flow->program)
		check_connections(flow);
	program_sockets_count(flow);
	if (counters->bytes_unseen * UNSEEN_SHARE > counters->bytes_sent)
		die("measuring flow", flow->name,
		    "let the client keep its side of the connection open until it has received all",
		    "%llu of %llu bytes were sent after the other end had closed its half of the connection, which the trace does not show",
		    (unsigned long long)counters->bytes_unseen,
		    (unsigned long long)counters->bytes_sent);
}

void program_write(struct writer *writer, const struct flow *flow)
{
	const struct flow_counters *counters = flow->counters;

	writer_object(writer, "program");
	writer_unsigned(writer, "delivered", counters->delivered);
	writer_unsigned(writer, "bytes_backward", counters->bytes_backward);
	writer_list(writer, "ports");
	for (size_t i = 0; i < counters->port_count; i++) {
		writer_list(writer, NULL);
		writer_unsigned(writer, NULL, counters->ports[i].sender);
		writer_unsigned(writer, NULL, counters->ports[i].receiver);
		writer_end(writer);
	}
	writer_end(writer);
	writer_end(writer);
}
