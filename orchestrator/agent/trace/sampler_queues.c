/* Queues as rtnetlink reports them (what `tc -s` shows); the length is taken to change evenly between two looks. */
#include "trace/sampler_queues.h"

#include <linux/pkt_sched.h>
#include <stdlib.h>

#include "net/qdisc.h"
#include "system/fatal.h"
#include "trace/trace_file.h"

struct queue {
	uint64_t packets_before, bytes_before; /* passed before time zero */
	uint64_t at_ns, backlog, byte_ns;
};

static struct queue *queues; /* by link */

/* The queue that a link waits in, and the root above it, whose packets are on their way. */
static void find(const struct link *link, const struct qdisc_reading *readings, size_t count,
		 const struct qdisc_reading **queue, const struct qdisc_reading **root)
{
	*root = NULL;
	*queue = qdisc_find(readings, count, link->end->index, link->queue);
	for (size_t i = 0; i < count; i++)
		if (readings[i].index == link->end->index && readings[i].parent == TC_H_ROOT)
			*root = &readings[i];
	if (!*queue || !*root)
		die("following the queue of link", link->name, "", "it is not there");
}

void sample_queues_open(const struct plan *plan)
{
	queues = need_memory(plan->link_count, sizeof(*queues));
	for (size_t i = 0; i < plan->link_count; i++) {
		const struct qdisc_reading *queue, *root;
		size_t count;
		struct qdisc_reading *readings = qdiscs_read(plan->links[i].end->node, &count);

		find(&plan->links[i], readings, count, &queue, &root);
		queues[i].packets_before = root->counters.packets;
		queues[i].bytes_before = root->counters.bytes;
		free(readings);
	}
}

static void write_link(const struct link *link, struct queue *before,
		       const struct qdisc_counters *queue, const struct qdisc_counters *root,
		       bool is_root, uint64_t now_ns)
{
	struct lh_link *record = trace_record(LH_LINK, 0, (uint16_t)link->id, now_ns);

	before->byte_ns += (before->backlog + queue->backlog) * (now_ns - before->at_ns) / 2;
	before->at_ns = now_ns;
	before->backlog = queue->backlog;
	record->queue_packets = record->queue_max_packets = (uint32_t)queue->qlen;
	record->queue_bytes = (uint32_t)queue->backlog;
	record->drops = (uint32_t)queue->drops;
	/* The delay line counts its own random losses and, once more, what its child refused. */
	record->losses =
		is_root || root->drops < queue->drops ? 0 : (uint32_t)(root->drops - queue->drops);
	record->marks = (uint32_t)queue->marks;
	record->tx_packets = root->packets - before->packets_before;
	record->tx_bytes = root->bytes - before->bytes_before;
	record->queue_byte_ns = before->byte_ns;
}

void sample_queues(const struct plan *plan, uint64_t now_ns)
{
	for (size_t i = 0; i < plan->link_count; i++) {
		const struct link *link = &plan->links[i];
		const struct qdisc_reading *queue, *root;
		size_t count;
		struct qdisc_reading *readings = qdiscs_read(link->end->node, &count);

		find(link, readings, count, &queue, &root);
		write_link(link, &queues[i], &queue->counters, &root->counters, queue == root,
			   now_ns);
		free(readings);
	}
}
