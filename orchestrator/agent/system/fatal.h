/*
 * How the agent fails: one shape, the same as orchestrator/system/errors.py. Every fatal error states what
 * was attempted, on which thing, what happened and what to do. In a run it becomes a line of the log
 * and status.json in the current folder, and a guest powers off; elsewhere it is a line and exit code 1.
 */
#ifndef LONGHAUL_FATAL_H
#define LONGHAUL_FATAL_H

#include <stddef.h>

struct writer;

/* From here on a fatal error writes status.json. */
void die_in_run(void);
/* The same, and it powers the guest off; files need no flush of the host's disk (files.h). */
void die_as_guest(void);
/* In place of writing status.json, calls this with it, which frees it; NULL: status.json is written. */
void die_reporting(void (*report)(struct writer *status));
/* Called before this process leaves, whatever the reason. */
void die_after(void (*last_act)(void));

_Noreturn void die(const char *attempting, const char *subject, const char *hint, const char *what,
		   ...) __attribute__((format(printf, 4, 5)));

/* A line of the log. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The end of this process, or of the guest if it is the guest's first. */
_Noreturn void leave(int code);

/* Writes {"status": "done"} and leaves. */
_Noreturn void finish(void);

/* Zeroed memory; without it the process dies. */
void *need_memory(size_t count, size_t size);

#endif
