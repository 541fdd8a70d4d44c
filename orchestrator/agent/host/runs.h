/*
 * The runs of a real host: /run/longhaul/<run>, locked by its processes for as long as one of them lives. What a dead
 * run has left is put back and removed by the next one; after a reboot there is nothing.
 */
#ifndef LONGHAUL_RUNS_H
#define LONGHAUL_RUNS_H

/* Claims this host for this process as long as it lives; fatal if another process has it. */
void host_claim(void);
/* A new run directory with this name; its path stays. */
const char *run_make(const char *name);
/* Counts what was sent, puts back what was changed, removes the directory; how many things could not be put back. */
int run_clear(const char *directory);
/* The same for every run whose processes are dead. */
void runs_sweep(void);

/* agent halt: ends every run on this host, and prints how many there were. */
int halt_run(void);

#endif
