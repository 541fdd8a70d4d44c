/* The queues are those of any path of an experiment, on devices of this machine in place of a node's. */
#include "host/middle_box.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "host/restore.h"
#include "net/nodes.h"
#include "net/qdisc.h"
#include "plan/fields.h"
#include "plan/qdiscs.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "system/json_file.h"
#include "system/json_writer.h"

#define PLAN  "run.json"
#define FACTS "facts.json"

static struct node here;
static struct end *ends;
static size_t end_count;
static uint64_t duration_us;

static bool may_emulate(const struct limits *limits, const char *device)
{
	for (size_t i = 0; i < limits->emulate_count; i++)
		if (!strcmp(limits->emulates[i], device))
			return true;
	return false;
}

static void read_end(const struct limits *limits, const struct json *item, struct end *end)
{
	struct reading {
		const char *dev;
		const struct json *qdiscs;
	} reading = {0};
	static const struct field fields[] = {
		NEED("dev", struct reading, dev, FIELD_TEXT),
		NEED("qdiscs", struct reading, qdiscs, FIELD_VALUE),
	};

	fields_read(item, fields, COUNT(fields), &reading);
	if (!may_emulate(limits, reading.dev))
		die("holding the run to " LIMITS_FILE ":", reading.dev,
		    "its operator's policy says otherwise, and `longhaul hosts deploy` brings it here",
		    "nothing may be emulated on it");
	end->node = &here;
	end->dev = reading.dev;
	end->index = if_nametoindex(reading.dev);
	if (!end->index)
		die("emulating a path on", reading.dev, "the policy names the devices",
		    "this machine has no such device");
	plan_read_qdiscs(reading.qdiscs, &end->qdiscs, &end->qdisc_count);
}

static void read_plan(const struct limits *limits)
{
	struct reading {
		uint64_t duration_us;
		const struct json *ends;
	} reading = {0};
	static const struct field fields[] = {
		NEED("duration_us", struct reading, duration_us, FIELD_U64),
		NEED("ends", struct reading, ends, FIELD_VALUE),
	};

	fields_read(json_read_file(PLAN, "reading the plan"), fields, COUNT(fields), &reading);
	duration_us = reading.duration_us;
	if (duration_us > limits->longest_us)
		die("holding the run to " LIMITS_FILE ":", "duration_us", "",
		    "%llu s are longer than the %llu s of a run",
		    (unsigned long long)duration_us / 1000000,
		    (unsigned long long)limits->longest_us / 1000000);
	end_count = fields_expect(reading.ends, JSON_LIST)->count;
	ends = need_memory(end_count, sizeof(*ends));
	for (EACH(item, reading.ends))
		read_end(limits, item, &ends[item->index]);
}

/* The kernel's own has no handle; any other was configured by a user. */
static void refuse_configured(const struct end *end)
{
	size_t count;
	struct qdisc_reading *readings = qdiscs_read(&here, &count);

	for (size_t i = 0; i < count; i++)
		if (readings[i].index == end->index && readings[i].parent == TC_H_ROOT &&
		    readings[i].handle)
			die("emulating a path on", end->dev,
			    "take it away with `tc qdisc delete dev DEVICE root`, or choose another device",
			    "a user configured %s there, which stays", readings[i].kind);
	free(readings);
}

void box_prepare(const struct limits *limits)
{
	struct plan plan = {.nodes = &here, .node_count = 1};

	here.name = limits->host;
	read_plan(limits);
	nodes_adopt(&plan);
	for (size_t i = 0; i < end_count; i++)
		refuse_configured(&ends[i]);
	for (size_t i = 0; i < end_count; i++) {
		undo_note_queues(&ends[i]);
		qdiscs_install_on(&ends[i]);
	}
}

static void write_end(struct writer *writer, const struct end *end,
		      const struct qdisc_reading *readings, size_t count)
{
	writer_object(writer, NULL);
	writer_text(writer, "dev", end->dev);
	writer_list(writer, "queues");
	for (size_t i = 0; i < end->qdisc_count; i++) {
		const struct qdisc_reading *reading =
			qdisc_find(readings, count, end->index, end->qdiscs[i].handle);

		if (!reading)
			die("reading back the queues of", end->dev,
			    "another program removed them during the run", "%s is not there",
			    qdisc_kind_name(end->qdiscs[i].kind));
		writer_object(writer, NULL);
		writer_text(writer, "kind", reading->kind);
		writer_unsigned(writer, "packets", reading->counters.packets);
		writer_unsigned(writer, "bytes", reading->counters.bytes);
		writer_unsigned(writer, "drops", reading->counters.drops);
		writer_end(writer);
	}
	writer_end(writer);
	writer_end(writer);
}

void box_run(uint64_t start_ns)
{
	struct qdisc_reading *readings;
	struct writer writer;
	size_t count;

	clock_set_epoch(start_ns);
	clock_wait_surely(duration_us * NS_PER_US);
	readings = qdiscs_read(&here, &count);
	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_list(&writer, "ends");
	for (size_t i = 0; i < end_count; i++)
		write_end(&writer, &ends[i], readings, count);
	writer_end(&writer);
	writer_end(&writer);
	free(readings);
	if (!writer_save(&writer, FACTS))
		die("writing", FACTS, "", "%s", strerror(errno));
}
