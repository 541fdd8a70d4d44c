/*
 * A program of the host, run in the guest as the host's user would see it (system/world.h); the run directory is the only place
 * that reaches the host. program.json names what to run. Its exit code goes to exit.json, and the guest powers off.
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
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "net/modules.h"
#include "plan/fields.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "system/json_file.h"
#include "system/json_writer.h"
#include "system/world.h"

#define DOCUMENT "program.json"

bool program_is_asked(void)
{
	return access(DOCUMENT, F_OK) == 0;
}

struct program program_read(const struct json *document)
{
	struct reading {
		struct program program;
		const struct json *arguments, *environment, *show;
	} reading = {0};
	static const struct field fields[] = {
		NEED("arguments", struct reading, arguments, FIELD_VALUE),
		NEED("environment", struct reading, environment, FIELD_VALUE),
		NEED("folder", struct reading, program.folder, FIELD_TEXT),
		NEED("modules", struct reading, program.modules, FIELD_VALUE),
		NEED("show", struct reading, show, FIELD_VALUE),
		NEED("input", struct reading, program.input, FIELD_TEXT),
		NEED("output", struct reading, program.output, FIELD_TEXT),
		NEED("errors", struct reading, program.errors, FIELD_TEXT),
		NEED("rows", struct reading, program.rows, FIELD_U16),
		NEED("columns", struct reading, program.columns, FIELD_U16),
	};

	fields_read(document, fields, COUNT(fields), &reading);
	reading.program.arguments = fields_texts(reading.arguments);
	reading.program.environment = fields_texts(reading.environment);
	reading.program.show = fields_texts(reading.show);
	reading.program.show_count = reading.show->count;
	return reading.program;
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

_Noreturn void program_become(const struct program *program)
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
int program_await(pid_t program)
{
	int status;
	pid_t gone;

	do
		gone = wait(&status);
	while (gone != program && (gone > 0 || errno == EINTR));
	return gone == program ? status : 0;
}

/* 128 and more: a signal, as in a shell. */
void program_write_end(int status)
{
	struct writer writer;

	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_unsigned(
		&writer, "code",
		(uint64_t)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)));
	writer_end(&writer);
	if (!writer_save(&writer, WORLD_SHARED "/exit.json"))
		die("writing", "exit.json", "", "%s", strerror(errno));
}

_Noreturn void program_run(void)
{
	struct program program =
		program_read(json_read_file(DOCUMENT, "reading the program to run"));
	struct world world;
	pid_t child;

	for (EACH(module, program.modules))
		module_load(fields_expect(module, JSON_TEXT)->text, "");
	world = (struct world){(const char *const *)program.show, program.show_count, true, NULL};
	world_enter(&world);
	loopback_up();
	sethostname("longhaul", strlen("longhaul"));
	/* In the first second after the boot some programs take the clock for one that stands still. */
	clock_wait_surely(NS_PER_S);
	child = fork();
	if (child < 0)
		die("starting", program.arguments[0], "", "fork: %s", strerror(errno));
	if (child == 0)
		program_become(&program);
	program_write_end(program_await(child));
	leave(0);
}
