/* A guest in which a program of the host runs: the host's files, this kernel, this clock. */
#ifndef LONGHAUL_PROGRAM_H
#define LONGHAUL_PROGRAM_H

#include <stdbool.h>

/* True if the root holds program.json. */
bool program_is_asked(void);
/* Runs it, leaves exit.json in the run directory, and powers off. */
_Noreturn void program_run(void);

#endif
