/*
 * The tree of qdiscs on a device. Handles and parents are the plan's, so a change finds its qdisc by
 * its handle, and the probe finds the queue it follows.
 */
#include "net/qdisc.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/netlink.h"
#include "net/readback.h"
#include "net/remark.h"
#include "plan/qdiscs.h"
#include "system/fatal.h"

struct reading_list {
	struct qdisc_reading *readings;
	size_t count, room;
};

static void read_counters(const struct rtattr *stats, struct qdisc_reading *reading)
{
	struct attributes attributes;
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;

	if (!stats)
		return;
	attributes_parse(&attributes, RTA_DATA(stats), RTA_PAYLOAD(stats));
	attribute_copy(attributes.table[TCA_STATS_BASIC], &basic, sizeof(basic));
	attribute_copy(attributes.table[TCA_STATS_QUEUE], &queue, sizeof(queue));
	reading->counters = (struct qdisc_counters){
		.packets = attributes.table[TCA_STATS_PKT64]
				   ? attribute_u64(attributes.table[TCA_STATS_PKT64])
				   : basic.packets,
		.bytes = basic.bytes,
		.drops = queue.drops,
		.overlimits = queue.overlimits,
		.qlen = queue.qlen,
		.backlog = queue.backlog,
		.marks = qdisc_get_marks(reading->kind, attributes.table[TCA_STATS_APP]),
	};
	if (!strcmp(reading->kind, qdisc_kind_name(QDISC_LH_DCF)))
		attribute_copy(attributes.table[TCA_STATS_APP], &reading->dcf,
			       sizeof(reading->dcf));
	if (!strcmp(reading->kind, qdisc_kind_name(QDISC_LH_LINK)))
		attribute_copy(attributes.table[TCA_STATS_APP], &reading->link,
			       sizeof(reading->link));
	if (!strcmp(reading->kind, qdisc_kind_name(QDISC_CAKE)))
		qdisc_get_cake(attributes.table[TCA_STATS_APP], &reading->cake);
	if (!strcmp(reading->kind, qdisc_kind_name(QDISC_DUALPI2)))
		attribute_copy(attributes.table[TCA_STATS_APP], &reading->dualpi2,
			       sizeof(reading->dualpi2));
}

static void visit_qdisc(const struct nlmsghdr *message, void *context)
{
	const struct tcmsg *body = NLMSG_DATA(message);
	struct reading_list *list = context;
	struct qdisc_reading *reading;
	struct attributes attributes;
	const struct rtattr *options;

	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 16;
		list->readings = reallocarray(list->readings, list->room, sizeof(*list->readings));
		if (!list->readings)
			die("reading back queues", "", "raise memory_mb", "not enough memory");
	}
	reading = &list->readings[list->count++];
	*reading = (struct qdisc_reading){
		.index = (unsigned int)body->tcm_ifindex,
		.handle = body->tcm_handle,
		.parent = body->tcm_parent,
	};
	attributes_of(&attributes, message, sizeof(*body));
	attribute_copy(attributes.table[TCA_KIND], reading->kind, sizeof(reading->kind) - 1);
	read_counters(attributes.table[TCA_STATS2], reading);
	options = attributes.table[TCA_OPTIONS];
	if (options && RTA_PAYLOAD(options) <= sizeof(reading->options)) {
		reading->options_size = RTA_PAYLOAD(options);
		memcpy(reading->options, RTA_DATA(options), reading->options_size);
	}
}

struct qdisc_reading *qdiscs_read(const struct node *node, size_t *count)
{
	struct reading_list list = {0};
	struct tcmsg body = {0};

	netlink_list(node->rtnl_fd, RTM_GETQDISC, &body, sizeof(body), visit_qdisc, &list);
	*count = list.count;
	return list.readings;
}

const struct qdisc_reading *qdisc_find(const struct qdisc_reading *readings, size_t count,
				       unsigned int index, uint32_t handle)
{
	for (size_t i = 0; i < count; i++)
		if (readings[i].index == index && readings[i].handle == handle)
			return &readings[i];
	return NULL;
}

static void check_qdisc(const struct end *end, const struct qdisc *asked,
			const struct qdisc_reading *reading)
{
	struct qdisc read;
	bool seed_honoured;

	if (!reading || strcmp(reading->kind, qdisc_kind_name(asked->kind)))
		refuse_reading(end, "queue", qdisc_kind_name(asked->kind),
			       reading ? reading->kind : "nothing");
	compare_number(end, "parent of a queue", asked->parent, reading->parent);
	qdisc_get_options(reading, asked, &read, &seed_honoured);
#define COMPARE(member) compare_number(end, #member, asked->member, read.member)
	COMPARE(limit);
	COMPARE(delay_ns);
	COMPARE(jitter_ns);
	COMPARE(seed);
	COMPARE(keep_order);
	COMPARE(bursty_loss);
	COMPARE(loss);
	COMPARE(duplicate);
	COMPARE(corrupt);
	COMPARE(reorder);
	for (int i = 0; i < 4; i++)
		COMPARE(gemodel[i]);
	COMPARE(rate_bps);
	COMPARE(burst_bytes);
	COMPARE(target_us);
	COMPARE(interval_us);
	COMPARE(flows);
	COMPARE(quantum);
	COMPARE(ecn);
	COMPARE(min);
	COMPARE(max);
	COMPARE(max_p);
	COMPARE(wlog);
	COMPARE(plog);
	COMPARE(scell_log);
	COMPARE(memory_bytes);
	COMPARE(rtt_us);
	COMPARE(shaper_bps);
	COMPARE(isolation);
	COMPARE(diffserv);
	COMPARE(ack_filter);
	COMPARE(split_gso);
	COMPARE(cells);
	COMPARE(mpu);
	if (asked->configured)
		COMPARE(overhead);
	COMPARE(medium);
	COMPARE(overhead_bytes);
	COMPARE(basic_rate_bps);
	COMPARE(rts);
	COMPARE(ht);
	COMPARE(aggregate);
	COMPARE(one_receiver);
	COMPARE(alpha);
	COMPARE(beta);
	COMPARE(step);
	COMPARE(step_in_packets);
	COMPARE(drop_overload);
	COMPARE(drop_early);
	COMPARE(coupling);
	COMPARE(classic_percent);
	COMPARE(in_bytes);
	COMPARE(orphan);
	COMPARE(peak_bps);
	COMPARE(peak_burst_bytes);
	COMPARE(police_bps);
	COMPARE(police_burst_bytes);
#undef COMPARE
}

static void check_end_in(const struct end *end, const struct qdisc_reading *readings, size_t count)
{
	for (size_t i = 0; i < end->qdisc_count; i++)
		check_qdisc(end, &end->qdiscs[i],
			    qdisc_find(readings, count, end->index, end->qdiscs[i].handle));
	for (size_t i = 0; i < count && !end->qdisc_count; i++)
		if (readings[i].index == end->index && strcmp(readings[i].kind, "noqueue"))
			refuse_reading(end, "queue", "noqueue", readings[i].kind);
}

static void check_end(const struct end *end)
{
	size_t count;
	struct qdisc_reading *readings = qdiscs_read(end->node, &count);

	check_end_in(end, readings, count);
	free(readings);
}

static void ask_for(const struct end *end, const struct qdisc *qdisc, const struct qdisc *before)
{
	struct tcmsg body = {
		.tcm_ifindex = (int)end->index,
		.tcm_parent = qdisc->parent,
		.tcm_handle = qdisc->handle,
	};
	struct request request;
	char why[256], subject[128];

	/* Without NLM_F_CREATE an existing qdisc keeps its packets and takes the new parameters. */
	request_begin(&request, RTM_NEWQDISC, before ? 0 : NLM_F_CREATE | NLM_F_EXCL, &body,
		      sizeof(body));
	request_add_text(&request, TCA_KIND, qdisc_kind_name(qdisc->kind));
	qdisc_put_options(&request, qdisc, before);
	if (!netlink_ask(end->node->rtnl_fd, &request, why, sizeof(why)))
		return;
	snprintf(subject, sizeof(subject), "%s %x: on %s of node %s", qdisc_kind_name(qdisc->kind),
		 qdisc->handle >> 16, end->dev, end->node->name);
	die(before ? "changing the queue" : "installing the queue", subject, "", "%s", why);
}

static void install_unchecked(const struct end *end)
{
	for (size_t i = 0; i < end->qdisc_count; i++)
		ask_for(end, &end->qdiscs[i], NULL);
	for (size_t i = 0; i < end->qdisc_count; i++)
		if (end->qdiscs[i].ect1)
			remark_install(end);
}

void qdiscs_install_on(const struct end *end)
{
	install_unchecked(end);
	check_end(end);
}

void qdiscs_install(struct plan *plan)
{
	size_t ends = 2 * plan->wire_count;

	for (size_t i = 0; i < ends; i++)
		if (!plan->wires[i / 2].ends[i % 2].node->elsewhere)
			install_unchecked(&plan->wires[i / 2].ends[i % 2]);
	/* The queues of a node are read together: a switch has hundreds of devices. */
	for (size_t i = 0; i < plan->node_count && ends; i++) {
		const struct node *node = &plan->nodes[i];
		struct qdisc_reading *readings;
		size_t count;

		if (node->elsewhere)
			continue;
		readings = qdiscs_read(node, &count);
		for (size_t j = 0; j < ends; j++)
			if (plan->wires[j / 2].ends[j % 2].node == node)
				check_end_in(&plan->wires[j / 2].ends[j % 2], readings, count);
		free(readings);
	}
}

void qdiscs_change(const struct change *change)
{
	struct end *end = change->end;

	for (size_t i = 0; i < change->qdisc_count; i++) {
		const struct qdisc *wanted = &change->qdiscs[i];
		struct qdisc *now = end->qdiscs;

		while (now < end->qdiscs + end->qdisc_count && now->handle != wanted->handle)
			now++;
		if (now == end->qdiscs + end->qdisc_count || now->kind != wanted->kind ||
		    now->parent != wanted->parent)
			refuse_reading(end, "queue to change", qdisc_kind_name(wanted->kind),
				       "not there with this handle and parent");
		/* An unchanged queue is left alone: a change would restart its draws or empty it. */
		if (!memcmp(now, wanted, sizeof(*now)))
			continue;
		ask_for(end, wanted, now);
		*now = *wanted;
	}
	check_end(end);
}
