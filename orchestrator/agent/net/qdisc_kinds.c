/*
 * The options of each kind of qdisc, as the kernel takes and gives them. Reading gives back the
 * plan's own structure; where the kernel rounds (codel's 1024 ns, pie's jiffies, tbf's 64 ns), a
 * value as close as that rounding counts as the one that was asked for.
 */
#include "net/qdisc_kinds.h"

#include <linux/pkt_sched.h>
#include <stdlib.h>
#include <string.h>

#define NETEM_SEED 14 /* TCA_NETEM_PRNG_SEED: kernels before 6.6 do not know it */
#define NETEM_ORDER_RATE \
	10000000000000ull /* byte/s: no time at all, but a packet waits for the last */
#define TICK_NS 64	  /* the packet scheduler's unit of time */

/* Linux has had dualpi2 since 6.17. */
enum {
	DUALPI2_LIMIT = 1,
	DUALPI2_MEMORY_LIMIT,
	DUALPI2_TARGET,
	DUALPI2_TUPDATE,
	DUALPI2_ALPHA,
	DUALPI2_BETA,
	DUALPI2_STEP_PACKETS,
	DUALPI2_STEP_US,
	DUALPI2_COUPLING = 10,
	DUALPI2_DROP_OVERLOAD,
	DUALPI2_DROP_EARLY,
	DUALPI2_C_PROTECTION,
};

static uint32_t bytes_per_second_32(uint64_t rate)
{
	return rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
}

static void put_netem(struct request *request, const struct qdisc *qdisc,
		      const struct qdisc *before)
{
	struct tc_netem_qopt head = {
		.limit = qdisc->limit,
		.loss = qdisc->loss,
		.duplicate = qdisc->duplicate,
		.gap = qdisc->reorder ? 1 : 0, /* with a gap of 1 each packet may overtake */
	};
	struct tc_netem_reorder reorder = {.probability = qdisc->reorder};
	struct tc_netem_corrupt corrupt = {.probability = qdisc->corrupt};
	uint64_t rate64 = qdisc->keep_order ? NETEM_ORDER_RATE : 0;
	struct tc_netem_rate rate = {.rate = bytes_per_second_32(rate64)};

	request_add_bytes(request, &head, sizeof(head));
	request_add_u64(request, TCA_NETEM_LATENCY64, qdisc->delay_ns);
	request_add_u64(request, TCA_NETEM_JITTER64, qdisc->jitter_ns);
	request_add(request, TCA_NETEM_REORDER, &reorder, sizeof(reorder));
	request_add(request, TCA_NETEM_CORRUPT, &corrupt, sizeof(corrupt));
	request_add(request, TCA_NETEM_RATE, &rate, sizeof(rate));
	if (rate64)
		request_add_u64(request, TCA_NETEM_RATE64, rate64);
	if (qdisc->bursty_loss) {
		const uint32_t *share = qdisc->gemodel;
		struct tc_netem_gemodel model = {
			.p = share[0], .r = share[1], .h = share[2], .k1 = share[3]};
		size_t nest = request_nest(request, TCA_NETEM_LOSS);

		request_add(request, NETEM_LOSS_GE, &model, sizeof(model));
		request_unnest(request, nest);
	}
	/* Giving a seed again would repeat the draws. */
	if (!before || before->seed != qdisc->seed)
		request_add_u64(request, NETEM_SEED, qdisc->seed);
}

static void put_tbf(struct request *request, const struct qdisc *qdisc)
{
	uint64_t rate = qdisc->rate_bps / 8;
	struct tc_tbf_qopt head = {
		/* A named link layer: the kernel then wants no table of transmission times. */
		.rate = {.linklayer = TC_LINKLAYER_ETHERNET, .rate = bytes_per_second_32(rate)},
		.limit = qdisc->limit,
	};

	if (qdisc->peak_bps)
		head.peakrate = (struct tc_ratespec){
			.linklayer = TC_LINKLAYER_ETHERNET,
			.rate = bytes_per_second_32(qdisc->peak_bps / 8),
		};
	request_add(request, TCA_TBF_PARMS, &head, sizeof(head));
	request_add_u32(request, TCA_TBF_BURST, qdisc->burst_bytes);
	if (rate > UINT32_MAX)
		request_add_u64(request, TCA_TBF_RATE64, rate);
	if (qdisc->peak_bps)
		request_add_u32(request, TCA_TBF_PBURST, qdisc->peak_burst_bytes);
	if (qdisc->peak_bps / 8 > UINT32_MAX)
		request_add_u64(request, TCA_TBF_PRATE64, qdisc->peak_bps / 8);
}

static void put_codel(struct request *request, const struct qdisc *qdisc)
{
	request_add_u32(request, TCA_CODEL_LIMIT, qdisc->limit);
	request_add_u32(request, TCA_CODEL_TARGET, qdisc->target_us);
	request_add_u32(request, TCA_CODEL_INTERVAL, qdisc->interval_us);
	request_add_u32(request, TCA_CODEL_ECN, qdisc->ecn);
}

static void put_fq_codel(struct request *request, const struct qdisc *qdisc,
			 const struct qdisc *before)
{
	request_add_u32(request, TCA_FQ_CODEL_LIMIT, qdisc->limit);
	request_add_u32(request, TCA_FQ_CODEL_TARGET, qdisc->target_us);
	request_add_u32(request, TCA_FQ_CODEL_INTERVAL, qdisc->interval_us);
	request_add_u32(request, TCA_FQ_CODEL_ECN, qdisc->ecn);
	request_add_u32(request, TCA_FQ_CODEL_QUANTUM, qdisc->quantum);
	if (!before || before->flows != qdisc->flows) /* fixed for life; a change is refused */
		request_add_u32(request, TCA_FQ_CODEL_FLOWS, qdisc->flows);
}

static void put_pie(struct request *request, const struct qdisc *qdisc)
{
	request_add_u32(request, TCA_PIE_LIMIT, qdisc->limit);
	request_add_u32(request, TCA_PIE_TARGET, qdisc->target_us);
	request_add_u32(request, TCA_PIE_TUPDATE, qdisc->interval_us);
	request_add_u32(request, TCA_PIE_ECN, qdisc->ecn);
}

static void put_red(struct request *request, const struct qdisc *qdisc)
{
	struct tc_red_qopt head = {
		.limit = qdisc->limit,
		.qth_min = qdisc->min,
		.qth_max = qdisc->max,
		.Wlog = qdisc->wlog,
		.Plog = qdisc->plog,
		.Scell_log = qdisc->scell_log,
		.flags = qdisc->ecn ? TC_RED_ECN : 0,
	};

	request_add(request, TCA_RED_PARMS, &head, sizeof(head));
	request_add(request, TCA_RED_STAB, qdisc->stab, sizeof(qdisc->stab));
	request_add_u32(request, TCA_RED_MAX_P, qdisc->max_p);
}

static void put_cake(struct request *request, const struct qdisc *qdisc)
{
	uint32_t target_us = qdisc->rtt_us / 20; /* as iproute2 derives it */

	request_add_u64(request, TCA_CAKE_BASE_RATE64, qdisc->shaper_bps / 8);
	request_add_u32(request, TCA_CAKE_RTT, qdisc->rtt_us);
	request_add_u32(request, TCA_CAKE_TARGET, target_us ? target_us : 1);
	request_add_u32(request, TCA_CAKE_MEMORY, qdisc->memory_bytes);
	if (!qdisc->configured)
		return;
	request_add_u32(request, TCA_CAKE_FLOW_MODE, qdisc->isolation);
	request_add_u32(request, TCA_CAKE_DIFFSERV_MODE, qdisc->diffserv);
	request_add_u32(request, TCA_CAKE_ACK_FILTER, qdisc->ack_filter);
	request_add_u32(request, TCA_CAKE_SPLIT_GSO, qdisc->split_gso);
	request_add_u32(request, TCA_CAKE_ATM, qdisc->cells);
	request_add_u32(request, TCA_CAKE_MPU, qdisc->mpu);
	if (qdisc->overhead != NO_OVERHEAD)
		request_add_u32(request, TCA_CAKE_OVERHEAD, qdisc->overhead);
}

static void put_dualpi2(struct request *request, const struct qdisc *qdisc)
{
	request_add_u32(request, DUALPI2_LIMIT, qdisc->limit);
	request_add_u32(request, DUALPI2_MEMORY_LIMIT, qdisc->memory_bytes);
	request_add_u32(request, DUALPI2_TARGET, qdisc->target_us);
	request_add_u32(request, DUALPI2_TUPDATE, qdisc->interval_us);
	request_add_u32(request, DUALPI2_ALPHA, qdisc->alpha);
	request_add_u32(request, DUALPI2_BETA, qdisc->beta);
	request_add_u32(request, qdisc->step_in_packets ? DUALPI2_STEP_PACKETS : DUALPI2_STEP_US,
			qdisc->step);
	request_add_u8(request, DUALPI2_COUPLING, qdisc->coupling);
	request_add_u8(request, DUALPI2_DROP_OVERLOAD, qdisc->drop_overload);
	request_add_u8(request, DUALPI2_DROP_EARLY, qdisc->drop_early);
	request_add_u8(request, DUALPI2_C_PROTECTION, qdisc->classic_percent);
}

static void put_lh_dcf(struct request *request, const struct qdisc *qdisc)
{
	request_add_u32(request, LH_DCF_MEDIUM, qdisc->medium);
	request_add_u64(request, LH_DCF_RATE_BPS, qdisc->rate_bps);
	request_add_u64(request, LH_DCF_BASIC_RATE_BPS, qdisc->basic_rate_bps);
	request_add_u32(request, LH_DCF_LIMIT, qdisc->limit);
	request_add_u32(request, LH_DCF_OVERHEAD_BYTES, qdisc->overhead_bytes);
	request_add_u8(request, LH_DCF_RTS, qdisc->rts);
	request_add_u64(request, LH_DCF_SEED, qdisc->seed);
	if (!qdisc->ht)
		return;
	request_add_u8(request, LH_DCF_HT, qdisc->ht);
	request_add_u8(request, LH_DCF_AGGREGATE, qdisc->aggregate);
	request_add_u8(request, LH_DCF_ONE_RECEIVER, qdisc->one_receiver);
	request_add_u32(request, LH_DCF_LOSS, qdisc->loss);
}

static void put_lh_link(struct request *request, const struct qdisc *qdisc,
			const struct qdisc *before)
{
	request_add_u64(request, LH_LINK_DELAY_NS, qdisc->delay_ns);
	request_add_u64(request, LH_LINK_JITTER_NS, qdisc->jitter_ns);
	request_add_u64(request, LH_LINK_RATE_BPS, qdisc->rate_bps);
	request_add_u32(request, LH_LINK_BURST_BYTES, qdisc->burst_bytes);
	request_add_u32(request, LH_LINK_LIMIT, qdisc->limit);
	request_add_u8(request, LH_LINK_IN_BYTES, qdisc->in_bytes);
	request_add_u8(request, LH_LINK_ORPHAN, qdisc->orphan);
	if (qdisc->peak_bps) {
		request_add_u64(request, LH_LINK_PEAK_BPS, qdisc->peak_bps);
		request_add_u32(request, LH_LINK_PEAK_BURST_BYTES, qdisc->peak_burst_bytes);
	}
	if (qdisc->police_bps) {
		request_add_u64(request, LH_LINK_POLICE_BPS, qdisc->police_bps);
		request_add_u32(request, LH_LINK_POLICE_BURST_BYTES, qdisc->police_burst_bytes);
	}
	/* Losses that have not changed continue: written again, their draws and bursts would start again. */
	if (before && before->seed == qdisc->seed)
		return;
	request_add_u64(request, LH_LINK_SEED, qdisc->seed);
	if (qdisc->bursty_loss)
		request_add(request, LH_LINK_BURSTS, qdisc->gemodel, sizeof(qdisc->gemodel));
	else
		request_add_u32(request, LH_LINK_LOSS, qdisc->loss);
}

void qdisc_put_options(struct request *request, const struct qdisc *qdisc,
		       const struct qdisc *before)
{
	/* The kinds that came last insist on the flag. */
	const uint16_t type =
		qdisc->kind == QDISC_DUALPI2 ? TCA_OPTIONS | NLA_F_NESTED : TCA_OPTIONS;
	size_t nest = request_nest(request, type);
	struct tc_fifo_qopt fifo = {.limit = qdisc->limit};

	switch (qdisc->kind) {
	case QDISC_NETEM:
		put_netem(request, qdisc, before);
		break;
	case QDISC_TBF:
		put_tbf(request, qdisc);
		break;
	case QDISC_PFIFO:
	case QDISC_BFIFO:
		request_add_bytes(request, &fifo, sizeof(fifo));
		break;
	case QDISC_CODEL:
		put_codel(request, qdisc);
		break;
	case QDISC_FQ_CODEL:
		put_fq_codel(request, qdisc, before);
		break;
	case QDISC_PIE:
		put_pie(request, qdisc);
		break;
	case QDISC_RED:
		put_red(request, qdisc);
		break;
	case QDISC_CAKE:
		put_cake(request, qdisc);
		break;
	case QDISC_DUALPI2:
		put_dualpi2(request, qdisc);
		break;
	case QDISC_LH_DCF:
		put_lh_dcf(request, qdisc);
		break;
	case QDISC_LH_LINK:
		put_lh_link(request, qdisc, before);
		break;
	case QDISC_CLSACT: /* has none */
		break;
	case QDISC_KINDS:
		abort();
	}
	request_unnest(request, nest);
}

/* The value asked for, if what was read is within the kernel's rounding of it. */
static uint32_t within(uint64_t read, uint64_t asked, uint64_t rounding)
{
	uint64_t distance = read > asked ? read - asked : asked - read;

	return (uint32_t)(distance <= rounding ? asked : read);
}

static void get_netem(const struct qdisc_reading *reading, const struct qdisc *asked,
		      struct qdisc *read, bool *seed_honoured)
{
	const size_t head_size = sizeof(struct tc_netem_qopt);
	struct attributes attributes;
	struct tc_netem_gemodel model;
	struct tc_netem_reorder reorder;
	struct tc_netem_corrupt corrupt;
	struct tc_netem_qopt head;

	if (reading->options_size < head_size)
		return;
	memcpy(&head, reading->options, head_size);
	attributes_parse(&attributes, reading->options + head_size,
			 reading->options_size - head_size);
	attribute_copy(attributes.table[TCA_NETEM_REORDER], &reorder, sizeof(reorder));
	attribute_copy(attributes.table[TCA_NETEM_CORRUPT], &corrupt, sizeof(corrupt));
	read->limit = head.limit;
	read->loss = head.loss;
	read->duplicate = head.duplicate;
	read->reorder = head.gap ? reorder.probability : 0;
	read->corrupt = corrupt.probability;
	read->delay_ns = attribute_u64(attributes.table[TCA_NETEM_LATENCY64]);
	read->jitter_ns = attribute_u64(attributes.table[TCA_NETEM_JITTER64]);
	read->keep_order = attribute_u64(attributes.table[TCA_NETEM_RATE64]) == NETEM_ORDER_RATE;
	if (attributes.table[TCA_NETEM_LOSS]) {
		struct attributes loss;

		attributes_parse(&loss, RTA_DATA(attributes.table[TCA_NETEM_LOSS]),
				 RTA_PAYLOAD(attributes.table[TCA_NETEM_LOSS]));
		attribute_copy(loss.table[NETEM_LOSS_GE], &model, sizeof(model));
		read->bursty_loss = loss.table[NETEM_LOSS_GE] != NULL;
		memcpy(read->gemodel, (uint32_t[]){model.p, model.r, model.h, model.k1},
		       sizeof(read->gemodel));
	}
	*seed_honoured = attributes.table[NETEM_SEED] != NULL;
	read->seed = *seed_honoured ? attribute_u64(attributes.table[NETEM_SEED]) : asked->seed;
}

/* The kernel keeps a bucket as time at its rate, in units of 64 ns. */
static uint32_t bucket_bytes(uint32_t ticks, uint64_t rate, uint32_t asked)
{
	return within((uint64_t)((unsigned __int128)ticks * TICK_NS * rate / 1000000000u), asked,
		      2 * TICK_NS * rate / 1000000000u + 1);
}

static void get_tbf(const struct attributes *attributes, const struct qdisc *asked,
		    struct qdisc *read)
{
	struct tc_tbf_qopt head;
	uint64_t rate;

	attribute_copy(attributes->table[TCA_TBF_PARMS], &head, sizeof(head));
	rate = attributes->table[TCA_TBF_RATE64] ? attribute_u64(attributes->table[TCA_TBF_RATE64])
						 : head.rate.rate;
	read->rate_bps = rate * 8;
	read->limit = head.limit;
	read->burst_bytes = bucket_bytes(head.buffer, rate, asked->burst_bytes);
	rate = attributes->table[TCA_TBF_PRATE64]
		       ? attribute_u64(attributes->table[TCA_TBF_PRATE64])
		       : head.peakrate.rate;
	read->peak_bps = rate * 8;
	if (rate)
		read->peak_burst_bytes = bucket_bytes(head.mtu, rate, asked->peak_burst_bytes);
}

static void get_red(const struct attributes *attributes, const struct qdisc *asked,
		    struct qdisc *read)
{
	struct tc_red_qopt head;

	attribute_copy(attributes->table[TCA_RED_PARMS], &head, sizeof(head));
	read->limit = head.limit;
	read->min = head.qth_min;
	read->max = head.qth_max;
	read->wlog = head.Wlog;
	read->plog = head.Plog;
	read->scell_log = head.Scell_log;
	read->ecn = (head.flags & TC_RED_ECN) != 0;
	read->max_p = attribute_u32(attributes->table[TCA_RED_MAX_P]);
	memcpy(read->stab, asked->stab, sizeof(read->stab)); /* never given back */
}

static void get_lh_dcf(const struct rtattr *const *table, struct qdisc *read)
{
	read->medium = attribute_u32(table[LH_DCF_MEDIUM]);
	read->rate_bps = attribute_u64(table[LH_DCF_RATE_BPS]);
	read->basic_rate_bps = attribute_u64(table[LH_DCF_BASIC_RATE_BPS]);
	read->limit = attribute_u32(table[LH_DCF_LIMIT]);
	read->overhead_bytes = attribute_u32(table[LH_DCF_OVERHEAD_BYTES]);
	read->rts = attribute_u32(table[LH_DCF_RTS]) != 0;
	read->seed = attribute_u64(table[LH_DCF_SEED]);
	read->ht = attribute_u32(table[LH_DCF_HT]) != 0;
	if (!read->ht)
		return;
	read->aggregate = (uint8_t)attribute_u32(table[LH_DCF_AGGREGATE]);
	read->one_receiver = attribute_u32(table[LH_DCF_ONE_RECEIVER]) != 0;
	read->loss = attribute_u32(table[LH_DCF_LOSS]);
}

static void get_lh_link(const struct rtattr *const *table, struct qdisc *read)
{
	read->delay_ns = attribute_u64(table[LH_LINK_DELAY_NS]);
	read->jitter_ns = attribute_u64(table[LH_LINK_JITTER_NS]);
	read->loss = attribute_u32(table[LH_LINK_LOSS]);
	read->bursty_loss = table[LH_LINK_BURSTS] != NULL;
	attribute_copy(table[LH_LINK_BURSTS], read->gemodel, sizeof(read->gemodel));
	read->rate_bps = attribute_u64(table[LH_LINK_RATE_BPS]);
	read->burst_bytes = attribute_u32(table[LH_LINK_BURST_BYTES]);
	read->limit = attribute_u32(table[LH_LINK_LIMIT]);
	read->in_bytes = attribute_u32(table[LH_LINK_IN_BYTES]) != 0;
	read->orphan = attribute_u32(table[LH_LINK_ORPHAN]) != 0;
	read->seed = attribute_u64(table[LH_LINK_SEED]);
	read->peak_bps = attribute_u64(table[LH_LINK_PEAK_BPS]);
	read->peak_burst_bytes = attribute_u32(table[LH_LINK_PEAK_BURST_BYTES]);
	read->police_bps = attribute_u64(table[LH_LINK_POLICE_BPS]);
	read->police_burst_bytes = attribute_u32(table[LH_LINK_POLICE_BURST_BYTES]);
}

static void get_cake(const struct rtattr *const *table, const struct qdisc *asked,
		     struct qdisc *read)
{
	read->configured = true;
	read->shaper_bps = attribute_u64(table[TCA_CAKE_BASE_RATE64]) * 8;
	read->isolation = (uint8_t)attribute_u32(table[TCA_CAKE_FLOW_MODE]);
	read->diffserv = (uint8_t)attribute_u32(table[TCA_CAKE_DIFFSERV_MODE]);
	read->ack_filter = (uint8_t)attribute_u32(table[TCA_CAKE_ACK_FILTER]);
	read->split_gso = attribute_u32(table[TCA_CAKE_SPLIT_GSO]) != 0;
	read->cells = (uint8_t)attribute_u32(table[TCA_CAKE_ATM]);
	read->mpu = attribute_u32(table[TCA_CAKE_MPU]);
	/* The kernel does not say whether it was given one. */
	read->overhead = asked->overhead == NO_OVERHEAD ? NO_OVERHEAD
							: attribute_u32(table[TCA_CAKE_OVERHEAD]);
}

static void get_dualpi2(const struct rtattr *const *table, const struct qdisc *asked,
			struct qdisc *read)
{
	read->limit = attribute_u32(table[DUALPI2_LIMIT]);
	read->memory_bytes = attribute_u32(table[DUALPI2_MEMORY_LIMIT]);
	read->target_us = attribute_u32(table[DUALPI2_TARGET]);
	read->interval_us = attribute_u32(table[DUALPI2_TUPDATE]);
	/* The kernel keeps the gains in units of its own, rounded down. */
	read->alpha = within(attribute_u32(table[DUALPI2_ALPHA]), asked->alpha, 1);
	read->beta = within(attribute_u32(table[DUALPI2_BETA]), asked->beta, 1);
	read->step_in_packets = table[DUALPI2_STEP_PACKETS] != NULL;
	read->step = attribute_u32(
		table[read->step_in_packets ? DUALPI2_STEP_PACKETS : DUALPI2_STEP_US]);
	read->coupling = (uint8_t)attribute_u32(table[DUALPI2_COUPLING]);
	read->drop_overload = attribute_u32(table[DUALPI2_DROP_OVERLOAD]) != 0;
	read->drop_early = attribute_u32(table[DUALPI2_DROP_EARLY]) != 0;
	read->classic_percent = (uint8_t)attribute_u32(table[DUALPI2_C_PROTECTION]);
}

void qdisc_get_options(const struct qdisc_reading *reading, const struct qdisc *asked,
		       struct qdisc *read, bool *seed_honoured)
{
	struct attributes attributes;
	const struct rtattr *const *table = attributes.table;
	struct tc_fifo_qopt fifo;

	*read = (struct qdisc){
		.kind = asked->kind, .handle = reading->handle, .parent = reading->parent};
	*seed_honoured = false;
	attributes_parse(&attributes, reading->options, reading->options_size);
	switch (asked->kind) {
	case QDISC_NETEM:
		get_netem(reading, asked, read, seed_honoured);
		break;
	case QDISC_TBF:
		get_tbf(&attributes, asked, read);
		break;
	case QDISC_PFIFO:
	case QDISC_BFIFO:
		memcpy(&fifo, reading->options, sizeof(fifo));
		read->limit = fifo.limit;
		break;
	case QDISC_CODEL:
		read->limit = attribute_u32(table[TCA_CODEL_LIMIT]);
		read->target_us =
			within(attribute_u32(table[TCA_CODEL_TARGET]), asked->target_us, 2);
		read->interval_us =
			within(attribute_u32(table[TCA_CODEL_INTERVAL]), asked->interval_us, 2);
		read->ecn = attribute_u32(table[TCA_CODEL_ECN]) != 0;
		break;
	case QDISC_FQ_CODEL:
		read->limit = attribute_u32(table[TCA_FQ_CODEL_LIMIT]);
		read->target_us =
			within(attribute_u32(table[TCA_FQ_CODEL_TARGET]), asked->target_us, 2);
		read->interval_us =
			within(attribute_u32(table[TCA_FQ_CODEL_INTERVAL]), asked->interval_us, 2);
		read->ecn = attribute_u32(table[TCA_FQ_CODEL_ECN]) != 0;
		read->flows = attribute_u32(table[TCA_FQ_CODEL_FLOWS]);
		read->quantum = attribute_u32(table[TCA_FQ_CODEL_QUANTUM]);
		break;
	case QDISC_PIE:
		read->limit = attribute_u32(table[TCA_PIE_LIMIT]);
		read->target_us = within(attribute_u32(table[TCA_PIE_TARGET]), asked->target_us, 1);
		/* Whole jiffies, upwards; a jiffy is 1 ms. */
		read->interval_us =
			within(attribute_u32(table[TCA_PIE_TUPDATE]), asked->interval_us, 999);
		read->ecn = attribute_u32(table[TCA_PIE_ECN]) != 0;
		break;
	case QDISC_RED:
		get_red(&attributes, asked, read);
		break;
	case QDISC_CAKE:
		read->rtt_us = attribute_u32(table[TCA_CAKE_RTT]);
		read->memory_bytes = attribute_u32(table[TCA_CAKE_MEMORY]);
		if (asked->configured)
			get_cake(table, asked, read);
		break;
	case QDISC_DUALPI2:
		get_dualpi2(table, asked, read);
		break;
	case QDISC_LH_DCF:
		get_lh_dcf(table, read);
		break;
	case QDISC_LH_LINK:
		get_lh_link(table, read);
		break;
	case QDISC_CLSACT: /* its filter is read back by remark.c */
		read->ect1 = asked->ect1;
		break;
	case QDISC_KINDS:
		abort();
	}
}

void qdisc_get_cake(const struct rtattr *application, struct cake_counters *counters)
{
	struct attributes stats, tin;
	const struct rtattr *one;
	int left;

	if (!application)
		return;
	attributes_parse(&stats, RTA_DATA(application), RTA_PAYLOAD(application));
	if (!stats.table[TCA_CAKE_STATS_TIN_STATS])
		return;
	left = (int)RTA_PAYLOAD(stats.table[TCA_CAKE_STATS_TIN_STATS]);
	for (one = RTA_DATA(stats.table[TCA_CAKE_STATS_TIN_STATS]);
	     RTA_OK(one, left) && counters->tin_count < MOST_TINS; one = RTA_NEXT(one, left)) {
		attributes_parse(&tin, RTA_DATA(one), RTA_PAYLOAD(one));
		counters->tins[counters->tin_count++] = (struct cake_tin){
			.sent_packets = attribute_u32(tin.table[TCA_CAKE_TIN_STATS_SENT_PACKETS]),
			.drops = attribute_u32(tin.table[TCA_CAKE_TIN_STATS_DROPPED_PACKETS]),
			.marks = attribute_u32(tin.table[TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS]),
			.ack_drops =
				attribute_u32(tin.table[TCA_CAKE_TIN_STATS_ACKS_DROPPED_PACKETS]),
		};
	}
}

static uint64_t cake_marks(const struct rtattr *application)
{
	struct attributes stats, tin;
	const struct rtattr *tins, *one;
	uint64_t marks = 0;
	int left;

	attributes_parse(&stats, RTA_DATA(application), RTA_PAYLOAD(application));
	tins = stats.table[TCA_CAKE_STATS_TIN_STATS];
	if (!tins)
		return 0;
	left = (int)RTA_PAYLOAD(tins);
	for (one = RTA_DATA(tins); RTA_OK(one, left); one = RTA_NEXT(one, left)) {
		attributes_parse(&tin, RTA_DATA(one), RTA_PAYLOAD(one));
		marks += attribute_u32(tin.table[TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS]);
	}
	return marks;
}

uint64_t qdisc_get_marks(const char *kind, const struct rtattr *application)
{
	union {
		struct tc_codel_xstats codel;
		struct tc_fq_codel_xstats fq_codel;
		struct tc_pie_xstats pie;
		struct tc_red_xstats red;
		struct dualpi2_xstats dualpi2;
	} stats;

	if (!application)
		return 0;
	attribute_copy(application, &stats, sizeof(stats));
	if (!strcmp(kind, "codel"))
		return stats.codel.ecn_mark;
	if (!strcmp(kind, "fq_codel"))
		return stats.fq_codel.qdisc_stats.ecn_mark;
	if (!strcmp(kind, "pie"))
		return stats.pie.ecn_mark;
	if (!strcmp(kind, "red"))
		return stats.red.marked;
	if (!strcmp(kind, "dualpi2"))
		return stats.dualpi2.ecn_mark;
	if (!strcmp(kind, "cake"))
		return cake_marks(application);
	return 0;
}
