/*
 * The end of every run, good or bad: status.json is the last thing written, by rename, so its
 * absence means that the run died. Nothing here may fail in a way that hides the first error.
 */
#include "system/fatal.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "system/files.h"
#include "system/json_writer.h"

static bool in_run, is_guest;
static void (*last_act)(void);
static void (*reporter)(struct writer *status);
static pthread_mutex_t dying = PTHREAD_MUTEX_INITIALIZER;

void die_in_run(void)
{
	in_run = true;
}

void die_after(void (*act)(void))
{
	last_act = act;
}

void die_reporting(void (*report)(struct writer *status))
{
	reporter = report;
}

void die_as_guest(void)
{
	in_run = is_guest = true;
	files_of_guest();
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
	/* The first error is the one to report: a later one waits here forever. */
	pthread_mutex_lock(&dying);
	say("%s%s%s: %s%s%s", attempting, *subject ? " " : "", subject, reason, *hint ? "; " : "",
	    hint);
	if (!in_run && !reporter)
		leave(1);
	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_text(&writer, "status", "failed");
	writer_text(&writer, "attempting", attempting);
	writer_text(&writer, "subject", subject);
	writer_text(&writer, "what", reason);
	writer_text(&writer, "hint", hint);
	writer_end(&writer);
	if (reporter)
		reporter(&writer);
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
