/*
 * The runs of a real host: /run/longhaul/<run>, locked by the processes that carry it out for as long as one of them lives. What a
 * dead one has left is put back and taken away by whoever comes next; after a reboot there is nothing.
 */
#ifndef LONGHAUL_RUNS_H
#define LONGHAUL_RUNS_H

#include <stddef.h>

/* This host is its caller's alone from here on, as long as the process lives; fatal if somebody else is there. */
void host_claim(void);
/* A new run directory with this name; its path stays. */
const char *run_make(const char *name);
/* Counts what was sent, puts back what was changed, takes the directory away; how many things could not be put back. */
int run_clear(const char *directory);
/* The same for every run whose processes are dead. */
void runs_sweep(void);

/* agent halt: ends every run on this host, and says how many there were. */
int halt_run(void);

#endif
