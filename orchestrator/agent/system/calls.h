/* Several system calls in one, where the kernel offers it: in a guest the way into the kernel costs more than most calls. */
#ifndef LONGHAUL_CALLS_H
#define LONGHAUL_CALLS_H

#include <stddef.h>

/* Laid out as the sandbox kernel reads it (kmod/sandbox/patches). */
struct call {
	long number;
	long arguments[6];
	int after;   /* the call that must have succeeded before; -1: none */
	int takes;   /* its result is the first argument */
	long result; /* as the kernel returns it: a negative number is an error */
};

/* Makes them in their order. Those that need no registers of their caller: openat, write, pread64, sendto, recvfrom, recvmmsg. */
void calls_make(struct call *calls, size_t count);

#endif
