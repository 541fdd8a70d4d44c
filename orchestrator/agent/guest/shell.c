/*
 * A shell at a moment of a run, beside the agent that makes the run: the host's files, as a program sees them (program.h), in the
 * namespace of one of the run's hosts. All nodes are in /run/netns by name, so `ip netns` and `nsenter` find them, and the names of
 * hosts resolve. Nothing here waits, so no virtual time passes.
 *
 * shell.json names the program and the nodes, each with one of its devices. The shell's end is the guest's, unless its exit code
 * is FINISH: then the run continues to its own end.
 */
#include "guest/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/program.h"
#include "plan/fields.h"
#include "system/fatal.h"
#include "system/json_file.h"
#include "system/world.h"

#define DOCUMENT "shell.json"
#define NAMES	 "/run/netns"
#define FINISH	 113
#define LAST_FD	 65536

struct shell {
	const struct json *program, *nodes;
	const char *at, *hosts; /* the host of the shell; the text of /etc/hosts */
};

struct named {
	const char *name, *dev;
};

static struct shell read_shell(void)
{
	struct shell shell = {0};
	static const struct field fields[] = {
		NEED("program", struct shell, program, FIELD_VALUE),
		NEED("nodes", struct shell, nodes, FIELD_VALUE),
		NEED("at", struct shell, at, FIELD_TEXT),
		NEED("hosts", struct shell, hosts, FIELD_TEXT),
	};

	fields_read(json_read_file(DOCUMENT, "reading the shell to open"), fields, COUNT(fields),
		    &shell);
	return shell;
}

static struct named read_node(const struct json *item)
{
	struct named node = {0};
	static const struct field fields[] = {
		NEED("name", struct named, name, FIELD_TEXT),
		NEED("dev", struct named, dev, FIELD_TEXT),
	};

	fields_read(item, fields, COUNT(fields), &node);
	return node;
}

static void name_namespace(const char *name, const char *source)
{
	char at[128];
	int fd;

	snprintf(at, sizeof(at), NAMES "/%s", name);
	fd = open(at, O_RDONLY | O_CREAT | O_CLOEXEC, 0);
	if (fd < 0)
		die("naming the node", name, "", "%s", strerror(errno));
	close(fd);
	if (mount(source, at, NULL, MS_BIND, NULL))
		die("naming the node", name, "", "%s", strerror(errno));
}

/* The agent holds a descriptor of each node's namespace; one of its devices says which node it is. */
static void name_nodes(const struct json *nodes)
{
	char path[64], to[64];

	for (int number = 0; number < LAST_FD; number++) {
		ssize_t length;
		int fd;

		snprintf(path, sizeof(path), "/proc/1/fd/%d", number);
		length = readlink(path, to, sizeof(to) - 1);
		if (length < 0)
			break;
		to[length] = 0;
		if (strncmp(to, "net:[", strlen("net:[")))
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, CLONE_NEWNET))
			die("entering a node", path, "", "%s", strerror(errno));
		close(fd);
		for (EACH(item, nodes)) {
			struct named node = read_node(item);

			if (if_nametoindex(node.dev))
				name_namespace(node.name, path);
		}
	}
}

static void enter(const char *name)
{
	char at[128];
	int fd;

	snprintf(at, sizeof(at), NAMES "/%s", name);
	fd = open(at, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("entering the host", name, "", "%s", strerror(errno));
	close(fd);
}

/*
 * The keeper of the clock lets all others go first. Before 6.6 the scheduler may choose it before a new process of its own class all
 * the same; from 6.12 on, a class above its own waits for it.
 */
static void go_first(void)
{
	struct sched_param first = {.sched_priority = 1};
	int major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%d.%d", &major, &minor) != 2 || major > 6 ||
	    (major == 6 && minor >= 6))
		return;
	if (sched_setscheduler(0, SCHED_RR, &first))
		die("raising the shell's priority", "", "", "%s", strerror(errno));
}

_Noreturn void shell_run(void)
{
	struct shell shell = read_shell();
	struct program program = program_read(shell.program);
	struct world world = {.shared = true};
	int status;
	pid_t child;

	die_as_guest();
	if (unshare(CLONE_NEWNS))
		die("making the shell's files", "", "", "%s", strerror(errno));
	world.show = (const char *const *)program.show;
	world.show_count = program.show_count;
	world.hosts = shell.hosts;
	world_enter(&world);
	name_nodes(shell.nodes);
	enter(shell.at);
	child = fork();
	if (child < 0)
		die("starting", program.arguments[0], "", "fork: %s", strerror(errno));
	if (child == 0) {
		go_first();
		program_become(&program);
	}
	status = program_await(child);
	program_write_end(status);
	if (WIFEXITED(status) && WEXITSTATUS(status) == FINISH)
		_exit(0);
	leave(0);
}
