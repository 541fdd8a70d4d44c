/*
 * A timer that fires each millisecond measures how late the kernel serves one; the kernel's counters show what had the
 * processors: other machines (steal), nothing (idle), and packets that had to wait (softnet).
 */
#include "system/cpu_budget.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/clock.h"
#include "system/threads.h"

#define EVERY_NS     1000000ull
#define LATE_BUCKETS 100000 /* of a microsecond each; the last one holds all that is later */
#define JIFFY_US     10000  /* /proc/stat counts in hundredths of a second */

struct reading {
	uint64_t busy_us, idle_us, steal_us;
	uint64_t softnet_dropped, softnet_squeezed;
	uint64_t pressure_us;
	bool has_pressure;
};

static uint32_t late[LATE_BUCKETS];
static uint64_t timers, late_max_us;
static struct reading before, after;
static volatile bool stopped;

static void read_processors(struct reading *reading)
{
	unsigned long long user, nice, system, idle, waiting, irq, softirq, steal;
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return;
	if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &waiting, &irq, &softirq, &steal) == 8) {
		reading->busy_us = (user + nice + system + irq + softirq) * JIFFY_US;
		reading->idle_us = (idle + waiting) * JIFFY_US;
		reading->steal_us = steal * JIFFY_US;
	}
	fclose(file);
}

static void read_softnet(struct reading *reading)
{
	unsigned int processed, dropped, squeezed;
	FILE *file = fopen("/proc/net/softnet_stat", "re");
	char line[512];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%x %x %x", &processed, &dropped, &squeezed) == 3) {
			reading->softnet_dropped += dropped;
			reading->softnet_squeezed += squeezed;
		}
	fclose(file);
}

static void read_pressure(struct reading *reading)
{
	FILE *file = fopen("/proc/pressure/cpu", "re");
	unsigned long long total;
	char line[256];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		const char *text = strstr(line, "total=");

		if (!strncmp(line, "some", 4) && text && sscanf(text, "total=%llu", &total) == 1) {
			reading->pressure_us = total;
			reading->has_pressure = true;
		}
	}
	fclose(file);
}

static struct reading read_all(void)
{
	struct reading reading = {0};

	read_processors(&reading);
	read_softnet(&reading);
	read_pressure(&reading);
	return reading;
}

static void *timer_thread(void *unused)
{
	uint64_t at_ns = 0;

	(void)unused;
	clock_wait_surely(at_ns);
	before = read_all();
	while (!stopped) {
		uint64_t late_us;

		at_ns += EVERY_NS;
		clock_wait_surely(at_ns);
		late_us = (clock_now_ns() - at_ns) / NS_PER_US;
		timers++;
		late[late_us < LATE_BUCKETS ? late_us : LATE_BUCKETS - 1]++;
		if (late_us > late_max_us)
			late_max_us = late_us;
		/* The timers missed meanwhile would only count the same delay again. */
		if (late_us * NS_PER_US > EVERY_NS)
			at_ns += late_us * NS_PER_US / EVERY_NS * EVERY_NS;
	}
	return NULL;
}

void budget_start(void)
{
	thread_start(timer_thread, NULL);
}

void budget_stop(void)
{
	stopped = true;
	after = read_all();
}

/* The lateness that so many of a thousand timers did not exceed. */
static uint64_t late_us_of(uint32_t per_mille)
{
	uint64_t seen = 0;

	for (uint64_t us = 0; us < LATE_BUCKETS; us++) {
		seen += late[us];
		if (seen * 1000 >= timers * per_mille)
			return us;
	}
	return LATE_BUCKETS;
}

void budget_write(struct writer *writer)
{
	writer_unsigned(writer, "timers", timers);
	writer_unsigned(writer, "late_p50_us", late_us_of(500));
	writer_unsigned(writer, "late_p99_us", late_us_of(990));
	writer_unsigned(writer, "late_max_us", late_max_us);
	writer_unsigned(writer, "busy_us", after.busy_us - before.busy_us);
	writer_unsigned(writer, "idle_us", after.idle_us - before.idle_us);
	writer_unsigned(writer, "steal_us", after.steal_us - before.steal_us);
	writer_unsigned(writer, "softnet_dropped", after.softnet_dropped - before.softnet_dropped);
	writer_unsigned(writer, "softnet_squeezed",
			after.softnet_squeezed - before.softnet_squeezed);
	if (after.has_pressure)
		writer_unsigned(writer, "pressure_us", after.pressure_us - before.pressure_us);
	else
		writer_null(writer, "pressure_us");
}
