/*
 * In virtual time the clock stands still while anything can run, so absolute sleeps are exact to the
 * nanosecond. Reading the clock by clock_gettime moves it by 256 ns, for the sake of programs that poll it. So
 * here it is read by the time that a timer has left: then no thread sees that others have looked at the clock.
 */
#include "system/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "system/fatal.h"

#define STRIKE_AGAIN_NS 1000000

/* Later than the end of any run. */
#define FAR_NS (1ull << 62)

static uint64_t epoch_ns;
static bool is_virtual;
static int far_timer = -1;
static _Thread_local timer_t alarm_timer;
static _Thread_local bool has_alarm;
static _Thread_local volatile sig_atomic_t interrupted;

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

static uint64_t monotonic_ns(void)
{
	struct itimerspec far;
	struct timespec now;

	if (far_timer >= 0 && !timerfd_gettime(far_timer, &far))
		return FAR_NS - ns_of(&far.it_value);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return ns_of(&now);
}

static struct timespec timespec_of(uint64_t at_ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(at_ns / NS_PER_S),
		.tv_nsec = (long)(at_ns % NS_PER_S),
	};
}

void clock_set_virtual(void)
{
	struct itimerspec far = {.it_value = timespec_of(FAR_NS)};

	is_virtual = true;
	far_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (far_timer < 0 || timerfd_settime(far_timer, TFD_TIMER_ABSTIME, &far, NULL))
		die("making the virtual clock's timer", "", "the guest kernel needs CONFIG_TIMERFD",
		    "%s", strerror(errno));
}

bool clock_is_virtual(void)
{
	return is_virtual;
}

uint64_t clock_choose_epoch(void)
{
	epoch_ns = (monotonic_ns() / NS_PER_S + 1) * NS_PER_S;
	return epoch_ns;
}

void clock_set_epoch(uint64_t at_ns)
{
	epoch_ns = at_ns;
}

uint64_t clock_epoch_ns(void)
{
	return epoch_ns;
}

uint64_t clock_now_ns(void)
{
	return monotonic_ns() - epoch_ns;
}

bool clock_wait(uint64_t at_ns)
{
	struct timespec at = timespec_of(epoch_ns + at_ns);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == 0;
}

void clock_wait_surely(uint64_t at_ns)
{
	while (!clock_wait(at_ns))
		continue;
}

static void on_alarm(int number)
{
	(void)number;
	interrupted = 1;
}

void clock_interrupt_at(uint64_t at_ns)
{
	struct itimerspec when = {
		.it_value = timespec_of(epoch_ns + at_ns),
		.it_interval = {.tv_nsec = STRIKE_AGAIN_NS},
	};
	/* Without SA_RESTART: a blocked call returns. */
	struct sigaction action = {.sa_handler = on_alarm};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	interrupted = 0;
	if (sigaction(SIGUSR1, &action, NULL) ||
	    timer_create(CLOCK_MONOTONIC, &event, &alarm_timer) ||
	    timer_settime(alarm_timer, TIMER_ABSTIME, &when, NULL))
		die("setting an alarm", "", "the guest kernel needs CONFIG_POSIX_TIMERS", "%s",
		    strerror(errno));
	has_alarm = true;
}

void clock_interrupt_never(void)
{
	if (has_alarm)
		timer_delete(alarm_timer);
	has_alarm = false;
}

bool clock_interrupted(void)
{
	return interrupted;
}
