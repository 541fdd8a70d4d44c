/*
 * Connections as sock_diag reports them (what `ss -i` shows), found by the port of their flow: so those of
 * other programs count too, whose sockets the agent cannot mark. The round trip is the smoothed one, the only one in the report.
 */
#include "trace/sampler_tcp.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

#include "net/netlink.h"
#include "net/nodes.h"
#include "system/fatal.h"
#include "trace/trace_file.h"

/* include/net/tcp_states.h is not for programs. Not those without a connection: listening, waiting, closed. */
#define STATES	    (1u << 1 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 11)
#define CLOSE_WAIT  8
#define STATE_WORDS 5

struct watched {
	uint64_t cookie;  /* of the receiver's present connection */
	uint64_t earlier; /* bytes of connections before it */
	uint64_t bytes, written;
	uint32_t words[STATE_WORDS]; /* as last written */
};

struct look {
	const struct plan *plan;
	const struct node *node;
	uint64_t now_ns;
	bool senders;
};

static struct watched *watched; /* by flow */
static int *diag_fds;		/* by node */

void sample_tcp_open(const struct plan *plan)
{
	watched = need_memory(plan->flow_count, sizeof(*watched));
	diag_fds = need_memory(plan->node_count, sizeof(*diag_fds));
	for (size_t i = 0; i < plan->node_count; i++) {
		if (plan->nodes[i].elsewhere)
			continue;
		enter_node(&plan->nodes[i]);
		diag_fds[i] = netlink_open(NETLINK_SOCK_DIAG);
		leave_node();
	}
}

static void write_state(struct watched *seen, const struct flow *flow, const struct tcp_info *info,
			const struct attributes *attributes, uint64_t now_ns)
{
	static const int layouts[] = {INET_DIAG_VEGASINFO, INET_DIAG_DCTCPINFO, INET_DIAG_BBRINFO};
	uint32_t words[STATE_WORDS];
	struct lh_state *record;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (!attributes->table[layouts[i]])
			continue;
		attribute_copy(attributes->table[layouts[i]], words, sizeof(words));
		if (!memcmp(words, seen->words, sizeof(words)))
			return;
		memcpy(seen->words, words, sizeof(words));
		record = trace_record(LH_STATE, info->tcpi_ca_state, (uint16_t)flow->id, now_ns);
		record->layout = (uint32_t)layouts[i];
		record->word0 = words[0];
		record->word1 = words[1];
		record->word2 = words[2];
		record->word3 = words[3];
		record->word4 = words[4];
		return;
	}
}

static void see_sender(const struct flow *flow, const struct tcp_info *info,
		       const struct attributes *attributes, uint64_t now_ns)
{
	struct lh_ack *record;

	if (!info->tcpi_data_segs_out)
		return;
	record = trace_record(LH_ACK, info->tcpi_ca_state, (uint16_t)flow->id, now_ns);
	record->cwnd = info->tcpi_snd_cwnd;
	record->ssthresh = info->tcpi_snd_ssthresh;
	record->srtt_us = record->rtt_us = info->tcpi_rtt;
	record->inflight =
		info->tcpi_unacked - info->tcpi_sacked - info->tcpi_lost + info->tcpi_retrans;
	record->delivered = info->tcpi_delivered;
	record->retrans = info->tcpi_total_retrans;
	record->lost = info->tcpi_lost;
	record->snd_wnd = info->tcpi_snd_wnd;
	record->pacing_Bps = info->tcpi_pacing_rate;
	record->acked_bytes = info->tcpi_bytes_acked;
	write_state(&watched[flow->id], flow, info, attributes, now_ns);
}

static void see_receiver(const struct flow *flow, const struct inet_diag_msg *message,
			 const struct tcp_info *info)
{
	struct watched *seen = &watched[flow->id];
	uint64_t cookie = (uint64_t)message->id.idiag_cookie[1] << 32 | message->id.idiag_cookie[0];

	if (seen->cookie != cookie) {
		seen->earlier += seen->bytes;
		seen->cookie = cookie;
	}
	/* The kernel counts a FIN as a byte. */
	seen->bytes = info->tcpi_bytes_received - (message->idiag_state == CLOSE_WAIT);
}

/* Of the connections to a flow's port at its receiver, those of its data: iperf3 has another one beside it. */
static bool is_of(const struct flow *flow, uint16_t client, uint16_t server, in_addr_t receiver)
{
	return flow->port == server && flow->address.s_addr == receiver &&
	       (!flow->client_port || flow->client_port == client);
}

static void visit_connection(const struct nlmsghdr *header, void *context)
{
	const struct inet_diag_msg *message = NLMSG_DATA(header);
	const struct look *look = context;
	uint16_t here = ntohs(message->id.idiag_sport), there = ntohs(message->id.idiag_dport);
	struct attributes attributes;
	struct tcp_info info;

	attributes_of(&attributes, header, sizeof(*message));
	attribute_copy(attributes.table[INET_DIAG_INFO], &info, sizeof(info));
	for (size_t i = 0; i < look->plan->flow_count; i++) {
		const struct flow *flow = &look->plan->flows[i];

		if (flow->kind == FLOW_UDP)
			continue;
		if (look->senders && flow->from == look->node &&
		    is_of(flow, here, there, message->id.idiag_dst[0]))
			see_sender(flow, &info, &attributes, look->now_ns);
		if (flow->to == look->node && is_of(flow, there, here, message->id.idiag_src[0]))
			see_receiver(flow, message, &info);
	}
}

static void write_receiver(uint32_t flow, uint64_t bytes, uint64_t now_ns)
{
	struct watched *seen = &watched[flow];
	struct lh_flow *record;

	if (bytes <= seen->written)
		return;
	seen->written = bytes;
	record = trace_record(LH_FLOW, 0, (uint16_t)flow, now_ns);
	record->app_bytes = bytes;
}

void sample_tcp(const struct plan *plan, uint64_t now_ns, bool senders)
{
	for (size_t i = 0; i < plan->node_count; i++) {
		struct inet_diag_req_v2 body = {
			.sdiag_family = AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			/* The second bit asks for all that the congestion control reports. */
			.idiag_ext = 1u << (INET_DIAG_INFO - 1) | 1u << (INET_DIAG_VEGASINFO - 1),
			.idiag_states = STATES,
		};
		struct look look = {plan, &plan->nodes[i], now_ns, senders};
		struct request request;

		if (plan->nodes[i].bridge || plan->nodes[i].elsewhere)
			continue;
		request_begin(&request, SOCK_DIAG_BY_FAMILY, 0, &body, sizeof(body));
		netlink_dump(diag_fds[i], &request, visit_connection, &look);
	}
	for (uint32_t i = 0; i < plan->flow_count; i++)
		write_receiver(i, watched[i].earlier + watched[i].bytes, now_ns);
}

/* The agent's own sockets have counted to the end, also in connections that came and went between two looks. */
void sample_tcp_end(const struct plan *plan, uint64_t now_ns)
{
	for (uint32_t i = 0; i < plan->flow_count; i++)
		if (plan->flows[i].kind != FLOW_UDP && !plan->flows[i].to->elsewhere)
			write_receiver(i, plan->flows[i].counters->bytes_received, now_ns);
}
