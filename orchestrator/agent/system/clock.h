/* The experiment's time: nanoseconds from the epoch, on the guest's monotonic clock. */
#ifndef LONGHAUL_CLOCK_H
#define LONGHAUL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US 1000ull
#define NS_PER_S  1000000000ull

/* From here on this clock stands still while anything runs, as in a guest of the sandbox. */
void clock_set_virtual(void);
bool clock_is_virtual(void);

/* The epoch: 1 s after boot, or the next whole second if the set-up took longer. */
uint64_t clock_choose_epoch(void);
uint64_t clock_epoch_ns(void);
/* Sets an epoch chosen elsewhere, in time of this machine's monotonic clock. */
void clock_set_epoch(uint64_t at_ns);

/* Now, from the epoch. */
uint64_t clock_now_ns(void);
/* Sleeps until an instant; false if a signal came first. */
bool clock_wait(uint64_t at_ns);
/* The same, whatever signals come. */
void clock_wait_surely(uint64_t at_ns);

/*
 * An alarm for the calling thread: from `at_ns` on every blocking call is interrupted, until
 * the alarm is cancelled. It strikes again each millisecond, in case it fell between two calls.
 */
void clock_interrupt_at(uint64_t at_ns);
void clock_interrupt_never(void);
bool clock_interrupted(void);

#endif
