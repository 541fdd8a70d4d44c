/*
 * The end of every run, good or bad: status.json is the last thing written, by rename, so its
 * absence means that the run died. Nothing here may fail in a way that hides the first error.
 */
#include "system/fatal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "trace/writer.h"

static bool in_run, is_guest;
static void (*last_act)(void);
static void (*teller)(struct writer *status);
static pthread_mutex_t dying = PTHREAD_MUTEX_INITIALIZER;

void die_in_run(void)
{
	in_run = true;
}

void die_after(void (*act)(void))
{
	last_act = act;
}

void die_telling(void (*tell)(struct writer *status))
{
	teller = tell;
}

void die_as_guest(void)
{
	in_run = is_guest = true;
}

void say(const char *format, ...)
{
	char line[1024];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	dprintf(STDOUT_FILENO, "longhaul: %s\n", line);
}

/* A guest's file is whole once its host has taken it, which a full disk refuses; a host's is to outlive a power cut. */
static int settle(int fd)
{
	if (is_guest)
		return sync_file_range(fd, 0, 0,
				       SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					       SYNC_FILE_RANGE_WAIT_AFTER);
	return fsync(fd);
}

bool write_whole_file(const char *path, const char *text, size_t length)
{
	char partial[256];
	int fd, problem;

	snprintf(partial, sizeof(partial), "%s.partial", path);
	fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	while (length) {
		ssize_t done = write(fd, text, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			goto failed;
		text += done;
		length -= (size_t)done;
	}
	if (settle(fd))
		goto failed;
	close(fd);
	return rename(partial, path) == 0;
failed:
	problem = errno ? errno : EIO;
	close(fd);
	unlink(partial);
	errno = problem;
	return false;
}

_Noreturn void leave(int code)
{
	if (last_act)
		last_act();
	fflush(NULL);
	if (is_guest)
		reboot(RB_POWER_OFF);
	_exit(code);
}

_Noreturn void die(const char *attempting, const char *subject, const char *hint, const char *what,
		   ...)
{
	struct writer writer;
	char reason[1024];
	va_list list;

	va_start(list, what);
	vsnprintf(reason, sizeof(reason), what, list);
	va_end(list);
	/* The first error is the one to report: a later one waits here for ever. */
	pthread_mutex_lock(&dying);
	say("%s%s%s: %s%s%s", attempting, *subject ? " " : "", subject, reason, *hint ? "; " : "",
	    hint);
	if (!in_run && !teller)
		leave(1);
	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_text(&writer, "status", "failed");
	writer_text(&writer, "attempting", attempting);
	writer_text(&writer, "subject", subject);
	writer_text(&writer, "what", reason);
	writer_text(&writer, "hint", hint);
	writer_end(&writer);
	if (teller)
		teller(&writer);
	else if (!writer_save(&writer, "status.json"))
		say("writing status.json: %s", strerror(errno));
	leave(1);
}

_Noreturn void finish(void)
{
	static const char done[] = "{\"status\": \"done\"}\n";

	pthread_mutex_lock(&dying);
	if (!write_whole_file("status.json", done, sizeof(done) - 1))
		say("writing status.json: %s", strerror(errno));
	leave(0);
}

void *need_memory(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		die("allocating memory", "", "raise memory_mb", "%zu x %zu bytes refused", count,
		    size);
	return memory;
}
