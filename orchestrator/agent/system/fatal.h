/*
 * How the agent fails: one shape, the same as orchestrator/system/errors.py. Every fatal error says what
 * was attempted, on which thing, what happened and what to do. In a run it becomes a line of the log
 * and status.json in the current folder, and a guest powers off; elsewhere it is a line and exit code 1.
 */
#ifndef LONGHAUL_DIE_H
#define LONGHAUL_DIE_H

#include <stdbool.h>
#include <stddef.h>

struct writer;

/* From here on a fatal error writes status.json. */
void die_in_run(void);
/* The same, and it powers the guest off. */
void die_as_guest(void);
/* Instead of writing status.json, this takes it, and frees it; NULL: nothing does. */
void die_telling(void (*tell)(struct writer *status));
/* What is done before this process leaves, whatever the reason. */
void die_after(void (*last_act)(void));

_Noreturn void die(const char *attempting, const char *subject, const char *hint, const char *what,
		   ...) __attribute__((format(printf, 4, 5)));

/* A line of the log. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Replaces `path` by `text` in one step and puts it on the disk; false with errno set if it cannot. */
bool write_whole_file(const char *path, const char *text, size_t length);

/* The end of this process, or of the guest if it is the guest's first. */
_Noreturn void leave(int code);

/* Writes {"status": "done"} and leaves. */
_Noreturn void finish(void);

/* Memory that is there, or death. */
void *need_memory(size_t count, size_t size);

#endif
