/* docs/run-directory.md describes the layout of facts.json; this file is that layout as code. */
#include "run/facts.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "net/sysctl.h"
#include "plan/qdiscs.h"
#include "system/clock.h"
#include "system/cpu_budget.h"
#include "system/fatal.h"
#include "system/json_writer.h"
#include "system/version.h"
#include "traffic/governor.h"
#include "traffic/iperf3_report.h"
#include "traffic/programs.h"

#define PATH "facts.json"

static void write_handle(struct writer *writer, const char *key, uint32_t handle)
{
	char text[16] = "root";

	if (handle != TC_H_ROOT && TC_H_MIN(handle))
		snprintf(text, sizeof(text), "%x:%x", handle >> 16, TC_H_MIN(handle));
	else if (handle != TC_H_ROOT)
		snprintf(text, sizeof(text), "%x:", handle >> 16);
	writer_text(writer, key, text);
}

static void write_losses(struct writer *writer, const struct qdisc *qdisc)
{
	writer_unsigned(writer, "loss_2p32", qdisc->loss);
	if (qdisc->bursty_loss) {
		writer_list(writer, "gemodel_2p32");
		for (int i = 0; i < 4; i++)
			writer_unsigned(writer, NULL, qdisc->gemodel[i]);
		writer_end(writer);
	} else {
		writer_null(writer, "gemodel_2p32");
	}
}

static void write_netem(struct writer *writer, const struct qdisc *qdisc, bool seed_honoured)
{
	writer_unsigned(writer, "delay_ns", qdisc->delay_ns);
	writer_unsigned(writer, "jitter_ns", qdisc->jitter_ns);
	writer_bool(writer, "keep_order", qdisc->keep_order);
	write_losses(writer, qdisc);
	writer_unsigned(writer, "duplicate_2p32", qdisc->duplicate);
	writer_unsigned(writer, "corrupt_2p32", qdisc->corrupt);
	writer_unsigned(writer, "reorder_2p32", qdisc->reorder);
	writer_unsigned(writer, "seed", qdisc->seed);
	writer_bool(writer, "seed_honoured", seed_honoured);
}

static void write_peak(struct writer *writer, const struct qdisc *qdisc)
{
	if (!qdisc->peak_bps)
		return;
	writer_unsigned(writer, "peak_bps", qdisc->peak_bps);
	writer_unsigned(writer, "peak_burst_bytes", qdisc->peak_burst_bytes);
}

static void write_cake(struct writer *writer, const struct qdisc *qdisc)
{
	writer_unsigned(writer, "shaper_bps", qdisc->shaper_bps);
	writer_unsigned(writer, "isolation", qdisc->isolation);
	writer_unsigned(writer, "diffserv", qdisc->diffserv);
	writer_unsigned(writer, "ack_filter", qdisc->ack_filter);
	writer_bool(writer, "split_gso", qdisc->split_gso);
	if (qdisc->overhead == NO_OVERHEAD)
		writer_null(writer, "overhead");
	else
		writer_unsigned(writer, "overhead", qdisc->overhead);
	writer_unsigned(writer, "mpu", qdisc->mpu);
	writer_unsigned(writer, "cells", qdisc->cells);
}

static void write_options(struct writer *writer, const struct qdisc *qdisc, bool seed_honoured)
{
	if (qdisc->kind != QDISC_CAKE && qdisc->kind != QDISC_CLSACT)
		writer_unsigned(writer, "limit", qdisc->limit);
	switch (qdisc->kind) {
	case QDISC_NETEM:
		write_netem(writer, qdisc, seed_honoured);
		break;
	case QDISC_TBF:
		writer_unsigned(writer, "rate_bps", qdisc->rate_bps);
		writer_unsigned(writer, "burst_bytes", qdisc->burst_bytes);
		write_peak(writer, qdisc);
		break;
	case QDISC_FQ_CODEL:
		writer_unsigned(writer, "flows", qdisc->flows);
		writer_unsigned(writer, "quantum", qdisc->quantum);
		__attribute__((fallthrough));
	case QDISC_CODEL:
	case QDISC_PIE:
		writer_unsigned(writer, "target_us", qdisc->target_us);
		writer_unsigned(writer, qdisc->kind == QDISC_PIE ? "tupdate_us" : "interval_us",
				qdisc->interval_us);
		writer_bool(writer, "ecn", qdisc->ecn);
		break;
	case QDISC_RED:
		writer_unsigned(writer, "min", qdisc->min);
		writer_unsigned(writer, "max", qdisc->max);
		writer_unsigned(writer, "wlog", qdisc->wlog);
		writer_unsigned(writer, "plog", qdisc->plog);
		writer_unsigned(writer, "scell_log", qdisc->scell_log);
		writer_unsigned(writer, "max_p_2p32", qdisc->max_p);
		writer_bool(writer, "ecn", qdisc->ecn);
		break;
	case QDISC_CAKE:
		writer_unsigned(writer, "memory_bytes", qdisc->memory_bytes);
		writer_unsigned(writer, "rtt_us", qdisc->rtt_us);
		if (qdisc->configured)
			write_cake(writer, qdisc);
		break;
	case QDISC_DUALPI2:
		writer_unsigned(writer, "memory_bytes", qdisc->memory_bytes);
		writer_unsigned(writer, "target_us", qdisc->target_us);
		writer_unsigned(writer, "tupdate_us", qdisc->interval_us);
		writer_unsigned(writer, "alpha", qdisc->alpha);
		writer_unsigned(writer, "beta", qdisc->beta);
		writer_unsigned(writer, "step", qdisc->step);
		writer_bool(writer, "step_in_packets", qdisc->step_in_packets);
		writer_unsigned(writer, "coupling", qdisc->coupling);
		writer_unsigned(writer, "classic_percent", qdisc->classic_percent);
		writer_bool(writer, "drop_overload", qdisc->drop_overload);
		writer_bool(writer, "drop_early", qdisc->drop_early);
		break;
	case QDISC_CLSACT:
		writer_bool(writer, "ect1", qdisc->ect1);
		break;
	case QDISC_LH_DCF:
		writer_unsigned(writer, "medium", qdisc->medium);
		writer_unsigned(writer, "rate_bps", qdisc->rate_bps);
		writer_unsigned(writer, "basic_rate_bps", qdisc->basic_rate_bps);
		writer_unsigned(writer, "overhead_bytes", qdisc->overhead_bytes);
		writer_bool(writer, "rts", qdisc->rts);
		writer_unsigned(writer, "seed", qdisc->seed);
		if (!qdisc->ht)
			break;
		writer_bool(writer, "ht", qdisc->ht);
		writer_unsigned(writer, "aggregate", qdisc->aggregate);
		writer_bool(writer, "one_receiver", qdisc->one_receiver);
		writer_unsigned(writer, "frame_loss_2p32", qdisc->loss);
		break;
	case QDISC_LH_LINK:
		writer_unsigned(writer, "delay_ns", qdisc->delay_ns);
		writer_unsigned(writer, "jitter_ns", qdisc->jitter_ns);
		write_losses(writer, qdisc);
		writer_unsigned(writer, "rate_bps", qdisc->rate_bps);
		writer_unsigned(writer, "burst_bytes", qdisc->burst_bytes);
		writer_bool(writer, "in_bytes", qdisc->in_bytes);
		writer_bool(writer, "orphan", qdisc->orphan);
		writer_unsigned(writer, "seed", qdisc->seed);
		write_peak(writer, qdisc);
		if (qdisc->police_bps) {
			writer_unsigned(writer, "police_bps", qdisc->police_bps);
			writer_unsigned(writer, "police_burst_bytes", qdisc->police_burst_bytes);
		}
		break;
	default: /* fifos have their limit alone */
		break;
	}
}

static void write_dcf(struct writer *writer, const struct lh_dcf_xstats *stats, bool ht)
{
	writer_object(writer, "dcf");
	writer_unsigned(writer, "frames", stats->frames);
	writer_unsigned(writer, "exchange_ns", stats->exchange_ns);
	writer_unsigned(writer, "collisions", stats->collisions);
	writer_unsigned(writer, "collision_ns", stats->collision_ns);
	writer_unsigned(writer, "retries", stats->retries);
	writer_unsigned(writer, "retry_drops", stats->retry_drops);
	writer_unsigned(writer, "backoff_slots", stats->backoff_slots);
	writer_unsigned(writer, "medium_exchanges", stats->medium_exchanges);
	writer_unsigned(writer, "medium_collisions", stats->medium_collisions);
	writer_unsigned(writer, "medium_busy_ns", stats->medium_busy_ns);
	if (ht) {
		writer_unsigned(writer, "mpdus", stats->mpdus);
		writer_unsigned(writer, "aggregates", stats->aggregates);
		writer_unsigned(writer, "block_acks", stats->block_acks);
		writer_unsigned(writer, "failed_mpdus", stats->failed_mpdus);
		writer_unsigned(writer, "mpdu_drops", stats->mpdu_drops);
		writer_unsigned(writer, "held", stats->held);
		writer_unsigned(writer, "mpdu_bytes", stats->mpdu_bytes);
		writer_unsigned(writer, "psdu_bytes", stats->psdu_bytes);
		writer_unsigned(writer, "symbols", stats->symbols);
	}
	writer_end(writer);
}

static void write_link(struct writer *writer, const struct lh_link_xstats *stats, bool polices)
{
	writer_object(writer, "link");
	writer_unsigned(writer, "losses", stats->losses);
	writer_unsigned(writer, "refused", stats->refused);
	writer_unsigned(writer, "tx_packets", stats->tx_packets);
	writer_unsigned(writer, "tx_bytes", stats->tx_bytes);
	writer_unsigned(writer, "queue_packets", stats->queue_packets);
	writer_unsigned(writer, "queue_bytes", stats->queue_bytes);
	writer_unsigned(writer, "flying_packets", stats->flying_packets);
	writer_unsigned(writer, "offered_bytes", stats->offered_bytes);
	writer_unsigned(writer, "used_bytes", stats->used_bytes);
	if (polices) {
		writer_unsigned(writer, "passed_packets", stats->passed_packets);
		writer_unsigned(writer, "passed_bytes", stats->passed_bytes);
		writer_unsigned(writer, "policed_packets", stats->policed_packets);
		writer_unsigned(writer, "policed_bytes", stats->policed_bytes);
	}
	writer_end(writer);
}

static void write_tins(struct writer *writer, const struct cake_counters *counters)
{
	writer_object(writer, "cake");
	writer_list(writer, "tins");
	for (size_t i = 0; i < counters->tin_count; i++) {
		writer_object(writer, NULL);
		writer_unsigned(writer, "sent_packets", counters->tins[i].sent_packets);
		writer_unsigned(writer, "drops", counters->tins[i].drops);
		writer_unsigned(writer, "marks", counters->tins[i].marks);
		writer_unsigned(writer, "ack_drops", counters->tins[i].ack_drops);
		writer_end(writer);
	}
	writer_end(writer);
	writer_end(writer);
}

static void write_dualpi2(struct writer *writer, const struct dualpi2_xstats *stats)
{
	writer_object(writer, "dualpi2");
	writer_unsigned(writer, "classic_packets", stats->packets_in_c);
	writer_unsigned(writer, "l4s_packets", stats->packets_in_l);
	writer_unsigned(writer, "step_marks", stats->step_marks);
	writer_end(writer);
}

static void write_qdisc(struct writer *writer, const struct end *end,
			const struct qdisc_reading *reading)
{
	const struct qdisc_counters *counters = &reading->counters;
	bool polices = false, configured = false, ht = false;

	writer_object(writer, NULL);
	writer_text(writer, "kind", reading->kind);
	write_handle(writer, "handle", reading->handle);
	write_handle(writer, "parent", reading->parent);
	writer_object(writer, "options");
	for (size_t i = 0; i < end->qdisc_count; i++) {
		struct qdisc read;
		bool seed_honoured;

		if (end->qdiscs[i].handle != reading->handle)
			continue;
		qdisc_get_options(reading, &end->qdiscs[i], &read, &seed_honoured);
		write_options(writer, &read, seed_honoured);
		polices = read.police_bps;
		configured = read.configured;
		ht = read.ht;
	}
	writer_end(writer);
	writer_unsigned(writer, "packets", counters->packets);
	writer_unsigned(writer, "bytes", counters->bytes);
	writer_unsigned(writer, "drops", counters->drops);
	writer_unsigned(writer, "overlimits", counters->overlimits);
	writer_unsigned(writer, "qlen", counters->qlen);
	writer_unsigned(writer, "backlog", counters->backlog);
	writer_unsigned(writer, "marks", counters->marks);
	if (!strcmp(reading->kind, qdisc_kind_name(QDISC_LH_DCF)))
		write_dcf(writer, &reading->dcf, ht);
	if (!strcmp(reading->kind, qdisc_kind_name(QDISC_LH_LINK)))
		write_link(writer, &reading->link, polices);
	if (configured)
		write_tins(writer, &reading->cake);
	if (!strcmp(reading->kind, qdisc_kind_name(QDISC_DUALPI2)))
		write_dualpi2(writer, &reading->dualpi2);
	writer_end(writer);
}

static void write_device(struct writer *writer, const struct plan *plan,
			 const struct snapshot *snapshot, size_t place)
{
	const struct end *end = &plan->wires[place / 2].ends[place % 2];
	const struct node_snapshot *node = &snapshot->nodes[end->node - plan->nodes];
	const struct device_counters *counters = &snapshot->devices[place];

	writer_object(writer, NULL);
	writer_text(writer, "node", end->node->name);
	writer_text(writer, "dev", end->dev);
	writer_unsigned(writer, "mtu", end->mtu);
	writer_bool(writer, "offloads_off", end->offloads_off);
	writer_unsigned(writer, "rx_packets", counters->rx_packets);
	writer_unsigned(writer, "rx_bytes", counters->rx_bytes);
	writer_unsigned(writer, "rx_dropped", counters->rx_dropped);
	writer_unsigned(writer, "tx_packets", counters->tx_packets);
	writer_unsigned(writer, "tx_bytes", counters->tx_bytes);
	writer_unsigned(writer, "tx_dropped", counters->tx_dropped);
	writer_list(writer, "qdiscs");
	for (size_t i = 0; i < node->qdisc_count; i++)
		if (node->qdiscs[i].index == end->index)
			write_qdisc(writer, end, &node->qdiscs[i]);
	writer_end(writer);
	writer_end(writer);
}

static void write_known(struct writer *writer, const char *key, uint64_t number)
{
	if (number == NEVER)
		writer_null(writer, key);
	else
		writer_unsigned(writer, key, number);
}

static void write_flow(struct writer *writer, const struct flow *flow)
{
	const struct flow_counters *counters = flow->counters;

	writer_object(writer, NULL);
	writer_unsigned(writer, "id", flow->id);
	writer_text(writer, "name", flow->name);
	writer_text(writer, "cc", *counters->cc ? counters->cc : NULL);
	write_known(writer, "connected_us", counters->connected_us);
	write_known(writer, "stopped_us", counters->stopped_us);
	write_known(writer, "completed_us", counters->completed_us);
	writer_unsigned(writer, "bytes_sent", counters->bytes_sent);
	writer_unsigned(writer, "bytes_received", counters->bytes_received);
	writer_unsigned(writer, "packets_sent", counters->packets_sent);
	writer_unsigned(writer, "packets_received", counters->packets_received);
	writer_unsigned(writer, "connections", counters->connections);
	writer_unsigned(writer, "busy_us", counters->busy_us);
	writer_unsigned(writer, "rwnd_limited_us", counters->rwnd_limited_us);
	writer_unsigned(writer, "sndbuf_limited_us", counters->sndbuf_limited_us);
	writer_unsigned(writer, "retransmits", counters->retransmits);
	if (counters->min_rtt_us == UINT32_MAX)
		writer_null(writer, "min_rtt_us");
	else
		writer_unsigned(writer, "min_rtt_us", counters->min_rtt_us);
	writer_unsigned(writer, "mss", counters->mss);
	writer_unsigned(writer, "window_clamp_bytes", counters->window_clamp_bytes);
	/* The kernel does not report whether a socket is paced. */
	writer_null(writer, "pacing_status");
	writer_bool(writer, "ecn", counters->ecn);
	writer_bool(writer, "accurate_ecn", counters->accurate_ecn);
	writer_unsigned(writer, "marks_reported", counters->marks_reported);
	write_known(writer, "marks_received", counters->marks_received);
	if (flow->requests) {
		writer_unsigned(writer, "requests_sent", counters->requests_sent);
		writer_unsigned(writer, "requests_completed", counters->requests_completed);
		writer_unsigned(writer, "requests_served", counters->requests_served);
	}
	if (flow->requests && flow->requests->barrier)
		writer_unsigned(writer, "rounds_completed", counters->rounds_completed);
	if (flow->dscp) {
		writer_unsigned(writer, "dscp_sent", counters->dscp_sent);
		writer_unsigned(writer, "dscp_received", counters->dscp_received);
	}
	writer_text(writer, "error", *counters->error ? counters->error : NULL);
	if (flow->kind == FLOW_IPERF3)
		iperf3_write_report(writer, flow);
	if (flow->kind == FLOW_PROGRAM)
		program_write(writer, flow);
	writer_end(writer);
}

/* The number under `name` in the two lines that begin with `group`: names first, then numbers. */
static uint64_t snmp_number(const char *snmp, const char *group, const char *name)
{
	const char *names = strstr(snmp, group), *numbers;
	size_t length = strlen(name);

	if (!names || !(numbers = strstr(names + 1, group)))
		return 0;
	while ((names = strchr(names, ' ')) && names < numbers) {
		numbers = strchr(numbers, ' ');
		if (!numbers)
			return 0;
		names++;
		numbers++;
		if (!strncmp(names, name, length) &&
		    (names[length] == ' ' || names[length] == '\n'))
			return strtoull(numbers, NULL, 10);
	}
	return 0;
}

static void write_snmp(struct writer *writer, const struct node *node, const char *snmp)
{
	writer_object(writer, NULL);
	writer_text(writer, "node", node->name);
	writer_unsigned(writer, "ip_forwarded", snmp_number(snmp, "Ip:", "ForwDatagrams"));
	writer_unsigned(writer, "ip_discards",
			snmp_number(snmp, "Ip:", "InDiscards") +
				snmp_number(snmp, "Ip:", "OutDiscards"));
	writer_unsigned(writer, "ip_no_routes", snmp_number(snmp, "Ip:", "OutNoRoutes"));
	writer_unsigned(writer, "udp_rcvbuf_errors", snmp_number(snmp, "Udp:", "RcvbufErrors"));
	writer_unsigned(writer, "tcp_retrans_segs", snmp_number(snmp, "Tcp:", "RetransSegs"));
	writer_end(writer);
}

static void write_node(struct writer *writer, const struct node *node)
{
	writer_object(writer, NULL);
	writer_text(writer, "name", node->name);
	writer_list(writer, "sysctls");
	for (size_t i = 0; i < node->sysctl_count; i++) {
		writer_list(writer, NULL);
		writer_text(writer, NULL, node->sysctls[i].name);
		writer_text(writer, NULL, node->sysctls_read[i]);
		writer_end(writer);
	}
	writer_end(writer);
	writer_end(writer);
}

/* The settings of a host, which a run leaves as they are. */
static void write_machine_sysctls(struct writer *writer)
{
	static const char *const names[] = {"net/core/netdev_max_backlog", "net/ipv4/tcp_mem",
					    "net/ipv4/udp_mem"};

	writer_list(writer, "machine_sysctls");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *value = sysctl_of_machine(names[i]);

		writer_list(writer, NULL);
		writer_text(writer, NULL, names[i]);
		writer_text(writer, NULL, value);
		writer_end(writer);
		free(value);
	}
	writer_end(writer);
}

void facts_write(const struct plan *plan, const struct snapshot *snapshot,
		 const struct probe_report *probe)
{
	struct writer writer;
	struct utsname system;

	uname(&system);
	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_unsigned(&writer, "format", 1);
	writer_text(&writer, "kernel", system.release);
	writer_text(&writer, "agent", AGENT_VERSION);
	writer_unsigned(&writer, "epoch_ns", clock_epoch_ns());
	writer_unsigned(&writer, "end_us", plan->duration_us);
	writer_list(&writer, "nodes");
	for (size_t i = 0; i < plan->node_count; i++)
		if (!plan->nodes[i].elsewhere)
			write_node(&writer, &plan->nodes[i]);
	writer_end(&writer);
	writer_list(&writer, "devices");
	for (size_t i = 0; i < 2 * plan->wire_count; i++)
		if (!plan->wires[i / 2].ends[i % 2].node->elsewhere)
			write_device(&writer, plan, snapshot, i);
	writer_end(&writer);
	writer_list(&writer, "flows");
	for (size_t i = 0; i < plan->flow_count; i++)
		write_flow(&writer, &plan->flows[i]);
	writer_end(&writer);
	writer_list(&writer, "nodes_snmp");
	for (size_t i = 0; i < plan->node_count; i++)
		if (!plan->nodes[i].elsewhere)
			write_snmp(&writer, &plan->nodes[i], snapshot->nodes[i].snmp);
	writer_end(&writer);
	writer_list(&writer, "links");
	for (size_t i = 0; i < plan->link_count; i++) {
		writer_object(&writer, NULL);
		writer_unsigned(&writer, "id", plan->links[i].id);
		if (probe->max_frame_bytes)
			writer_unsigned(&writer, "max_frame_bytes", probe->max_frame_bytes[i]);
		else
			writer_null(&writer, "max_frame_bytes");
		writer_end(&writer);
	}
	writer_end(&writer);
	if (plan->on_host)
		write_machine_sysctls(&writer);
	governor_write(&writer);
	if (plan->real_clock) {
		writer_object(&writer, "machine");
		writer_unsigned(&writer, "snapshot_us", snapshot->took_us);
		budget_write(&writer);
		writer_end(&writer);
	} else {
		writer_null(&writer, "machine");
	}
	writer_object(&writer, "trace");
	writer_unsigned(&writer, "records", probe->records);
	writer_unsigned(&writer, "bytes", probe->bytes);
	writer_end(&writer);
	writer_end(&writer);
	if (!writer_save(&writer, PATH))
		die("writing", PATH, errno == ENOSPC ? "the disk of the run directory is full" : "",
		    "%s", strerror(errno));
}
