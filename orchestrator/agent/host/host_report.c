/* Where a number is a rate, it is of the half second between two readings. */
#include "host/host_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host/frames.h"
#include "net/nic.h"
#include "net/sysctl.h"

#define WATCH_NS 500000000l

struct processors {
	unsigned long long busy, all;
};

static struct processors read_processors(void)
{
	unsigned long long user, nice, system, idle, waiting, irq, softirq, steal;
	struct processors read = {0};
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return read;
	if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &waiting, &irq, &softirq, &steal) == 8) {
		read.busy = user + nice + system + irq + softirq + steal;
		read.all = read.busy + idle + waiting;
	}
	fclose(file);
	return read;
}

static bool has_word(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	char line[8192];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, word) != NULL;
	if (file)
		fclose(file);
	return found;
}

/* In the kernel, loaded, or where modprobe finds it; a module is not loaded by being looked for. */
static bool has_control(const char *name)
{
	char *available = sysctl_of_machine("net/ipv4/tcp_available_congestion_control");
	char word[96], path[256], *place = NULL;
	struct utsname system;
	bool found = false;

	for (char *one = available ? strtok_r(available, " \n", &place) : NULL; one && !found;
	     one = strtok_r(NULL, " \n", &place))
		found = !strcmp(one, name);
	free(available);
	uname(&system);
	snprintf(word, sizeof(word), "/tcp_%s.ko", name);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", system.release);
	return found || has_word(path, word);
}

static void write_controls(struct writer *writer, const char *controls)
{
	char *names = strdup(controls), *place = NULL;

	writer_object(writer, "controls");
	for (char *name = strtok_r(names, " ", &place); name; name = strtok_r(NULL, " ", &place))
		writer_bool(writer, name, has_control(name));
	writer_end(writer);
	free(names);
}

static void write_settings(struct writer *writer)
{
	static const char *const names[] = {
		"net/ipv4/tcp_rmem",
		"net/ipv4/tcp_wmem",
		"net/ipv4/tcp_sack",
		"net/ipv4/tcp_timestamps",
		"net/ipv4/tcp_ecn",
		"net/ipv4/tcp_window_scaling",
		"net/core/default_qdisc",
		"net/ipv4/tcp_slow_start_after_idle",
		"net/ipv4/tcp_congestion_control",
		"net/ipv4/tcp_no_metrics_save",
	};

	writer_object(writer, "settings");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *value = sysctl_of_machine(names[i]);

		writer_text(writer, names[i], value);
		free(value);
	}
	writer_end(writer);
}

/* Whether a time service keeps the clock right: chrony and the like report it to the kernel. */
static void write_clock(struct writer *writer)
{
	struct timex state = {0};
	int answer = adjtimex(&state);

	writer_object(writer, "clock");
	writer_bool(writer, "kept", answer >= 0 && answer != TIME_ERROR);
	writer_unsigned(writer, "max_error_us", state.maxerror > 0 ? (uint64_t)state.maxerror : 0);
	writer_end(writer);
}

void look(const struct limits *limits, const char *controls)
{
	const struct timespec watch = {.tv_nsec = WATCH_NS};
	struct nic_counters before = {0}, after = {0};
	struct processors then = read_processors(), now;
	struct utsname system;
	struct writer writer;
	bool there = nic_read(limits->device, &before);

	nanosleep(&watch, NULL);
	there = there && nic_read(limits->device, &after);
	now = read_processors();
	uname(&system);
	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_text(&writer, "kernel", system.release);
	writer_unsigned(&writer, "processors", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	writer_unsigned(&writer, "busy_milli",
			now.all > then.all ? (now.busy - then.busy) * 1000 / (now.all - then.all)
					   : 0);
	writer_bool(&writer, "device", there);
	writer_unsigned(&writer, "mtu", nic_mtu(limits->device));
	writer_unsigned(&writer, "rx_bps", (after.rx_bytes - before.rx_bytes) * 16);
	writer_unsigned(&writer, "tx_bps", (after.tx_bytes - before.tx_bytes) * 16);
	write_clock(&writer);
	write_settings(&writer);
	write_controls(&writer, controls);
	writer_end(&writer);
	frame_send_document("LOOK", &writer);
}
