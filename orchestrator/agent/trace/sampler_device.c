/* On a real host the first queue on the way is its own device's: records of what waits there, was dropped, or has left. */
#include "trace/sampler_device.h"

#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>

#include "net/nic.h"
#include "net/qdisc.h"
#include "system/fatal.h"
#include "trace/trace_file.h"

struct device {
	struct nic_counters before; /* time zero */
	uint64_t drops_before;
	uint64_t at_ns, backlog, byte_ns;
};

static struct device *devices; /* by node */

static bool is_followed(const struct node *node)
{
	return !node->elsewhere && node->device && node->link != NO_LINK;
}

/* The root of the device's queues; a device may have none. */
static struct qdisc_counters root_of(const struct node *node)
{
	unsigned int index = if_nametoindex(node->device);
	struct qdisc_counters counters = {0};
	size_t count;
	struct qdisc_reading *readings = qdiscs_read(node, &count);

	for (size_t i = 0; i < count; i++)
		if (readings[i].index == index && readings[i].parent == TC_H_ROOT)
			counters = readings[i].counters;
	free(readings);
	return counters;
}

void sample_devices_open(const struct plan *plan)
{
	devices = need_memory(plan->node_count, sizeof(*devices));
	for (size_t i = 0; i < plan->node_count; i++) {
		const struct node *node = &plan->nodes[i];

		if (!is_followed(node))
			continue;
		if (!nic_read(node->device, &devices[i].before))
			die("reading the counters of", node->device,
			    "name the device of test traffic", "there is no such device");
		devices[i].drops_before = root_of(node).drops;
	}
}

static void write_record(const struct node *node, struct device *before, uint64_t now_ns)
{
	struct qdisc_counters root = root_of(node);
	struct nic_counters now = before->before;
	struct lh_link *record = trace_record(LH_LINK, 0, (uint16_t)node->link, now_ns);

	nic_read(node->device, &now);
	before->byte_ns += (before->backlog + root.backlog) * (now_ns - before->at_ns) / 2;
	before->at_ns = now_ns;
	before->backlog = root.backlog;
	record->queue_packets = record->queue_max_packets = (uint32_t)root.qlen;
	record->queue_bytes = (uint32_t)root.backlog;
	record->drops = (uint32_t)(root.drops - before->drops_before);
	record->tx_packets = now.tx_packets - before->before.tx_packets;
	record->tx_bytes = now.tx_bytes - before->before.tx_bytes;
	record->queue_byte_ns = before->byte_ns;
}

void sample_devices(const struct plan *plan, uint64_t now_ns)
{
	for (size_t i = 0; i < plan->node_count; i++)
		if (is_followed(&plan->nodes[i]))
			write_record(&plan->nodes[i], &devices[i], now_ns);
}
