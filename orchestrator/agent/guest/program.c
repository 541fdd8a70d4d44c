/*
 * A program of the host, run in the guest as the host's user would see it:
 *
 *     /              the host's files, read-only, through hostfs with the launcher's rights
 *     /tmp /run      empty, in memory; so are /dev/shm and /var/tmp
 *     /run/longhaul  the run directory, which is the only place that reaches the host
 *
 * program.json names what to run. Its exit code goes to exit.json, and the guest powers off.
 */
#include "guest/program.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "net/modules.h"
#include "plan/fields.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "system/json_file.h"
#include "system/json_writer.h"

#define DOCUMENT "program.json"
#define HOST	 "/host"
#define SHARED	 "/run/longhaul"

struct program {
	char **arguments, **environment;
	const char *folder;
	const struct json *modules; /* loaded first */
	const struct json *show; /* folders that must be seen although they lie where it is empty */
	const char *input, *output, *errors; /* devices */
	uint16_t rows, columns;		     /* of a terminal; 0: it is none */
};

bool program_is_asked(void)
{
	return access(DOCUMENT, F_OK) == 0;
}

/* A list of texts, as exec takes it. */
static char **read_texts(const struct json *list)
{
	char **texts = need_memory(fields_expect(list, JSON_LIST)->count + 1, sizeof(*texts));

	for (EACH(item, list))
		texts[item->index] = strdup(fields_expect(item, JSON_TEXT)->text);
	return texts;
}

static struct program read_program(void)
{
	struct reading {
		struct program program;
		const struct json *arguments, *environment;
	} reading = {0};
	static const struct field fields[] = {
		NEED("arguments", struct reading, arguments, FIELD_VALUE),
		NEED("environment", struct reading, environment, FIELD_VALUE),
		NEED("folder", struct reading, program.folder, FIELD_TEXT),
		NEED("modules", struct reading, program.modules, FIELD_VALUE),
		NEED("show", struct reading, program.show, FIELD_VALUE),
		NEED("input", struct reading, program.input, FIELD_TEXT),
		NEED("output", struct reading, program.output, FIELD_TEXT),
		NEED("errors", struct reading, program.errors, FIELD_TEXT),
		NEED("rows", struct reading, program.rows, FIELD_U16),
		NEED("columns", struct reading, program.columns, FIELD_U16),
	};

	fields_read(json_read_file(DOCUMENT, "reading the program to run"), fields, COUNT(fields),
		    &reading);
	reading.program.arguments = read_texts(reading.arguments);
	reading.program.environment = read_texts(reading.environment);
	return reading.program;
}

static void mount_one(const char *source, const char *kind, const char *at, unsigned long flags,
		      const char *options)
{
	if (mount(source, at, kind, flags, options))
		die("mounting", at, "the host must have this folder", "%s: %s",
		    kind ? kind : source, strerror(errno));
}

/* Makes a folder and all above it; what is there already stays. */
static void make_folders(const char *path)
{
	char upper[512];

	for (const char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		snprintf(upper, sizeof(upper), "%.*s", (int)(slash - path), path);
		mkdir(upper, 0755);
	}
	if (mkdir(path, 0755) && errno != EEXIST)
		die("making the folder", path, "", "%s", strerror(errno));
}

static void show(const char *folder)
{
	char at[512];
	struct stat info;

	snprintf(at, sizeof(at), HOST "%s", folder);
	if (stat(at, &info) == 0)
		return;
	make_folders(at);
	mount_one("none", "hostfs", at, MS_RDONLY, folder);
}

static void make_world(const struct program *program)
{
	static const char *const empty[] = {HOST "/tmp", HOST "/run", HOST "/var/tmp"};

	mount_one("none", "hostfs", HOST, MS_RDONLY, "/");
	for (size_t i = 0; i < COUNT(empty); i++)
		mount_one("tmpfs", "tmpfs", empty[i], 0, "mode=1777");
	mount_one("proc", "proc", HOST "/proc", 0, NULL);
	mount_one("sysfs", "sysfs", HOST "/sys", 0, NULL);
	mount_one("devtmpfs", "devtmpfs", HOST "/dev", 0, NULL);
	make_folders(HOST "/dev/pts");
	make_folders(HOST "/dev/shm");
	mount_one("devpts", "devpts", HOST "/dev/pts", 0, "mode=620,ptmxmode=666");
	mount_one("tmpfs", "tmpfs", HOST "/dev/shm", 0, "mode=1777");
	if (symlink("pts/ptmx", HOST "/dev/ptmx") && errno != EEXIST)
		die("making", "/dev/ptmx", "", "%s", strerror(errno));
	if ((symlink("/proc/self/fd", HOST "/dev/fd") ||
	     symlink("/proc/self/fd/0", HOST "/dev/stdin") ||
	     symlink("/proc/self/fd/1", HOST "/dev/stdout") ||
	     symlink("/proc/self/fd/2", HOST "/dev/stderr")) &&
	    errno != EEXIST)
		die("making", "/dev/fd", "", "%s", strerror(errno));
	make_folders(HOST "/run/netns");
	make_folders(HOST SHARED);
	mount_one("/", NULL, HOST SHARED, MS_BIND, NULL);
	for (EACH(folder, program->show))
		show(fields_expect(folder, JSON_TEXT)->text);
	/* The root of the mount namespace, not of this process alone: a process that joins a namespace made from it has this root. */
	if (chdir(HOST) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
	    chdir(SHARED))
		die("entering the host's files", "", "", "%s", strerror(errno));
}

static void loopback_up(void)
{
	struct ifreq ifreq = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifreq))
		die("bringing up", "lo", "", "%s", strerror(errno));
	close(fd);
}

static void open_as(const char *device, int flags, int fd)
{
	int opened = open(device, flags);

	if (opened < 0 || dup2(opened, fd) < 0)
		die("opening", device, "", "%s", strerror(errno));
	if (opened != fd)
		close(opened);
}

/* Bytes pass as they are written: a file or a pipe of the host takes line ends unchanged. */
static void pass_bytes(int fd)
{
	struct termios settings;

	if (tcgetattr(fd, &settings))
		return;
	settings.c_oflag &= ~(tcflag_t)OPOST;
	tcsetattr(fd, TCSANOW, &settings);
}

static void make_terminal(const struct program *program)
{
	struct winsize size = {.ws_row = program->rows, .ws_col = program->columns};

	if (ioctl(STDIN_FILENO, TIOCSCTTY, 1) || ioctl(STDIN_FILENO, TIOCSWINSZ, &size))
		die("taking the terminal", program->input, "", "%s", strerror(errno));
}

static _Noreturn void become(const struct program *program)
{
	setsid();
	signal(SIGPIPE, SIG_DFL);
	open_as(program->input, program->rows ? O_RDWR : O_RDONLY | O_NOCTTY, STDIN_FILENO);
	open_as(program->output, O_WRONLY | O_NOCTTY, STDOUT_FILENO);
	open_as(program->errors, O_WRONLY | O_NOCTTY, STDERR_FILENO);
	if (program->rows) {
		make_terminal(program);
	} else {
		pass_bytes(STDOUT_FILENO);
		pass_bytes(STDERR_FILENO);
	}
	if (chdir(program->folder))
		die("entering the folder of the program", program->folder, "", "%s",
		    strerror(errno));
	execve(program->arguments[0], program->arguments, program->environment);
	die("starting", program->arguments[0], "it must be there for the guest's user", "%s",
	    strerror(errno));
}

/* As the first process, this one also reaps orphans. */
static int wait_for(pid_t program)
{
	int status;
	pid_t gone;

	do
		gone = wait(&status);
	while (gone != program && (gone > 0 || errno == EINTR));
	return gone == program ? status : 0;
}

/* 128 and more: a signal, as in a shell. */
static void write_end(int status)
{
	struct writer writer;

	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_unsigned(
		&writer, "code",
		(uint64_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)));
	writer_end(&writer);
	if (!writer_save(&writer, SHARED "/exit.json"))
		die("writing", "exit.json", "", "%s", strerror(errno));
}

_Noreturn void program_run(void)
{
	struct program program = read_program();
	pid_t child;

	for (EACH(module, program.modules))
		module_load(fields_expect(module, JSON_TEXT)->text, "");
	make_world(&program);
	loopback_up();
	sethostname("longhaul", strlen("longhaul"));
	/* In the first second after the boot some programs take the clock for one that stands still. */
	clock_wait_surely(NS_PER_S);
	child = fork();
	if (child < 0)
		die("starting", program.arguments[0], "", "fork: %s", strerror(errno));
	if (child == 0)
		become(&program);
	write_end(wait_for(child));
	leave(0);
}
