/* A guest in which a program of the host runs: the host's files, this kernel, this clock. */
#ifndef LONGHAUL_PROGRAM_H
#define LONGHAUL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/json_reader.h"

struct program {
	char **arguments, **environment;
	const char *folder;
	const struct json *modules; /* loaded first */
	char **show;		    /* folders, as a world shows them */
	size_t show_count;
	const char *input, *output, *errors; /* devices */
	uint16_t rows, columns;		     /* of a terminal; 0: it is none */
};

/* True if the root holds program.json. */
bool program_is_asked(void);
/* Runs it, leaves exit.json in the run directory, and powers off. */
_Noreturn void program_run(void);

struct program program_read(const struct json *document);
/* Replaces this process, which must be a child, by the program. */
_Noreturn void program_become(const struct program *program);
/* Its status when it has ended. */
int program_await(pid_t program);
/* Leaves exit.json. */
void program_write_end(int status);

#endif
