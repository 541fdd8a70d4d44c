/* The QDISC objects of run.json: one table of members for each kind. */
#include "plan/qdiscs.h"

#include <linux/pkt_sched.h>
#include <string.h>

#include "plan/fields.h"
#include "system/fatal.h"

#define MAX_DELAY_NS (3600ull * 1000000000ull)

/* What every kind begins with, and what is kept of the members that need more than a number. */
struct reading {
	struct qdisc qdisc;
	const char *kind;
	const struct json *gemodel, *stab;
};

#define HEAD                                                                                    \
	{"kind", FIELD_TEXT, offsetof(struct reading, kind), NEEDED, 0, 0},                     \
		{"handle", FIELD_HANDLE, offsetof(struct reading, qdisc.handle), NEEDED, 0, 0}, \
	{                                                                                       \
		"parent", FIELD_HANDLE, offsetof(struct reading, qdisc.parent), NEEDED, 0, 0    \
	}
#define MEMBER(key, member, type)                                         \
	{                                                                 \
		key, type, offsetof(struct reading, member), NEEDED, 0, 0 \
	}

static const struct field netem_fields[] = {
	HEAD,
	MEMBER("limit", qdisc.limit, FIELD_U32),
	{"delay_ns", FIELD_U64, offsetof(struct reading, qdisc.delay_ns), NEEDED, MAX_DELAY_NS, 0},
	/* The kernel keeps jitter in 31 bits. */
	{"jitter_ns", FIELD_U64, offsetof(struct reading, qdisc.jitter_ns), NEEDED, INT32_MAX, 0},
	MEMBER("keep_order", qdisc.keep_order, FIELD_BOOL),
	MEMBER("loss_2p32", qdisc.loss, FIELD_SHARE),
	{"gemodel_2p32", FIELD_VALUE, offsetof(struct reading, gemodel), NULLABLE, 0, 0},
	MEMBER("duplicate_2p32", qdisc.duplicate, FIELD_SHARE),
	MEMBER("corrupt_2p32", qdisc.corrupt, FIELD_SHARE),
	MEMBER("reorder_2p32", qdisc.reorder, FIELD_SHARE),
	MEMBER("seed", qdisc.seed, FIELD_U64),
};
static const struct field tbf_fields[] = {
	HEAD,
	MEMBER("rate_bps", qdisc.rate_bps, FIELD_U64),
	MEMBER("burst_bytes", qdisc.burst_bytes, FIELD_U32),
	MEMBER("limit", qdisc.limit, FIELD_U32),
	{"peak_bps", FIELD_U64, offsetof(struct reading, qdisc.peak_bps), NULLABLE, 0, 0},
	{"peak_burst_bytes", FIELD_U32, offsetof(struct reading, qdisc.peak_burst_bytes), NULLABLE,
	 0, 0},
};
static const struct field fifo_fields[] = {
	HEAD,
	MEMBER("limit", qdisc.limit, FIELD_U32),
};
static const struct field codel_fields[] = {
	HEAD,
	MEMBER("limit", qdisc.limit, FIELD_U32),
	MEMBER("target_us", qdisc.target_us, FIELD_U32),
	MEMBER("interval_us", qdisc.interval_us, FIELD_U32),
	MEMBER("ecn", qdisc.ecn, FIELD_BOOL),
};
static const struct field fq_codel_fields[] = {
	HEAD,
	MEMBER("limit", qdisc.limit, FIELD_U32),
	MEMBER("flows", qdisc.flows, FIELD_U32),
	MEMBER("quantum", qdisc.quantum, FIELD_U32),
	MEMBER("target_us", qdisc.target_us, FIELD_U32),
	MEMBER("interval_us", qdisc.interval_us, FIELD_U32),
	MEMBER("ecn", qdisc.ecn, FIELD_BOOL),
};
static const struct field pie_fields[] = {
	HEAD,
	MEMBER("limit", qdisc.limit, FIELD_U32),
	MEMBER("target_us", qdisc.target_us, FIELD_U32),
	MEMBER("tupdate_us", qdisc.interval_us, FIELD_U32),
	MEMBER("ecn", qdisc.ecn, FIELD_BOOL),
};
static const struct field red_fields[] = {
	HEAD,
	MEMBER("limit", qdisc.limit, FIELD_U32),
	MEMBER("min", qdisc.min, FIELD_U32),
	MEMBER("max", qdisc.max, FIELD_U32),
	MEMBER("wlog", qdisc.wlog, FIELD_U8),
	MEMBER("plog", qdisc.plog, FIELD_U8),
	MEMBER("scell_log", qdisc.scell_log, FIELD_U8),
	MEMBER("stab", stab, FIELD_VALUE),
	MEMBER("max_p_2p32", qdisc.max_p, FIELD_SHARE),
	MEMBER("ecn", qdisc.ecn, FIELD_BOOL),
};
static const struct field cake_fields[] = {
	HEAD,
	MEMBER("memory_bytes", qdisc.memory_bytes, FIELD_U32),
	MEMBER("rtt_us", qdisc.rtt_us, FIELD_U32),
	{"shaper_bps", FIELD_U64, offsetof(struct reading, qdisc.shaper_bps), NULLABLE, 0, 0},
	{"isolation", FIELD_U8, offsetof(struct reading, qdisc.isolation), NULLABLE, 0, 0},
	{"diffserv", FIELD_U8, offsetof(struct reading, qdisc.diffserv), NULLABLE, 0, 0},
	{"ack_filter", FIELD_U8, offsetof(struct reading, qdisc.ack_filter), NULLABLE, 0, 0},
	{"split_gso", FIELD_BOOL, offsetof(struct reading, qdisc.split_gso), NULLABLE, 0, 0},
	{"overhead", FIELD_U32, offsetof(struct reading, qdisc.overhead), NULLABLE, 0, NO_OVERHEAD},
	{"mpu", FIELD_U32, offsetof(struct reading, qdisc.mpu), NULLABLE, 0, 0},
	{"cells", FIELD_U8, offsetof(struct reading, qdisc.cells), NULLABLE, 0, 0},
};

static const struct field dualpi2_fields[] = {
	HEAD,
	MEMBER("limit", qdisc.limit, FIELD_U32),
	MEMBER("memory_bytes", qdisc.memory_bytes, FIELD_U32),
	MEMBER("target_us", qdisc.target_us, FIELD_U32),
	MEMBER("tupdate_us", qdisc.interval_us, FIELD_U32),
	MEMBER("alpha", qdisc.alpha, FIELD_U32),
	MEMBER("beta", qdisc.beta, FIELD_U32),
	MEMBER("step", qdisc.step, FIELD_U32),
	MEMBER("step_in_packets", qdisc.step_in_packets, FIELD_BOOL),
	MEMBER("coupling", qdisc.coupling, FIELD_U8),
	MEMBER("classic_percent", qdisc.classic_percent, FIELD_U8),
	MEMBER("drop_overload", qdisc.drop_overload, FIELD_BOOL),
	MEMBER("drop_early", qdisc.drop_early, FIELD_BOOL),
};
static const struct field clsact_fields[] = {
	HEAD,
	MEMBER("ect1", qdisc.ect1, FIELD_BOOL),
};

static const struct field lh_dcf_fields[] = {
	HEAD,
	MEMBER("medium", qdisc.medium, FIELD_U32),
	MEMBER("rate_bps", qdisc.rate_bps, FIELD_U64),
	MEMBER("basic_rate_bps", qdisc.basic_rate_bps, FIELD_U64),
	MEMBER("limit", qdisc.limit, FIELD_U32),
	MEMBER("overhead_bytes", qdisc.overhead_bytes, FIELD_U32),
	MEMBER("rts", qdisc.rts, FIELD_BOOL),
	MEMBER("seed", qdisc.seed, FIELD_U64),
	{"ht", FIELD_BOOL, offsetof(struct reading, qdisc.ht), NULLABLE, 0, 0},
	{"aggregate", FIELD_U8, offsetof(struct reading, qdisc.aggregate), NULLABLE, 64, 0},
	{"one_receiver", FIELD_BOOL, offsetof(struct reading, qdisc.one_receiver), NULLABLE, 0, 0},
	{"frame_loss_2p32", FIELD_SHARE, offsetof(struct reading, qdisc.loss), NULLABLE, 0, 0},
};

static const struct field lh_link_fields[] = {
	HEAD,
	{"delay_ns", FIELD_U64, offsetof(struct reading, qdisc.delay_ns), NEEDED, MAX_DELAY_NS, 0},
	{"jitter_ns", FIELD_U64, offsetof(struct reading, qdisc.jitter_ns), NEEDED, INT32_MAX, 0},
	MEMBER("loss_2p32", qdisc.loss, FIELD_SHARE),
	{"gemodel_2p32", FIELD_VALUE, offsetof(struct reading, gemodel), NULLABLE, 0, 0},
	MEMBER("rate_bps", qdisc.rate_bps, FIELD_U64),
	MEMBER("burst_bytes", qdisc.burst_bytes, FIELD_U32),
	MEMBER("limit", qdisc.limit, FIELD_U32),
	MEMBER("in_bytes", qdisc.in_bytes, FIELD_BOOL),
	MEMBER("orphan", qdisc.orphan, FIELD_BOOL),
	MEMBER("seed", qdisc.seed, FIELD_U64),
	{"peak_bps", FIELD_U64, offsetof(struct reading, qdisc.peak_bps), NULLABLE, 0, 0},
	{"peak_burst_bytes", FIELD_U32, offsetof(struct reading, qdisc.peak_burst_bytes), NULLABLE,
	 0, 0},
	{"police_bps", FIELD_U64, offsetof(struct reading, qdisc.police_bps), NULLABLE, 0, 0},
	{"police_burst_bytes", FIELD_U32, offsetof(struct reading, qdisc.police_burst_bytes),
	 NULLABLE, 0, 0},
};

#define TABLE(name, fields)                                      \
	{                                                        \
		name, fields, sizeof(fields) / sizeof(*(fields)) \
	}
static const struct {
	const char *name;
	const struct field *fields;
	size_t count;
} kinds[QDISC_KINDS] = {
	[QDISC_NETEM] = TABLE("netem", netem_fields),
	[QDISC_TBF] = TABLE("tbf", tbf_fields),
	[QDISC_PFIFO] = TABLE("pfifo", fifo_fields),
	[QDISC_BFIFO] = TABLE("bfifo", fifo_fields),
	[QDISC_CODEL] = TABLE("codel", codel_fields),
	[QDISC_FQ_CODEL] = TABLE("fq_codel", fq_codel_fields),
	[QDISC_PIE] = TABLE("pie", pie_fields),
	[QDISC_RED] = TABLE("red", red_fields),
	[QDISC_CAKE] = TABLE("cake", cake_fields),
	[QDISC_DUALPI2] = TABLE("dualpi2", dualpi2_fields),
	[QDISC_LH_DCF] = TABLE("lh_dcf", lh_dcf_fields),
	[QDISC_LH_LINK] = TABLE("lh_link", lh_link_fields),
	[QDISC_CLSACT] = TABLE("clsact", clsact_fields),
};

const char *qdisc_kind_name(enum qdisc_kind kind)
{
	return kinds[kind].name;
}

static void read_numbers(const struct json *list, size_t count, uint64_t max, uint32_t *into)
{
	uint64_t number;
	const struct field field = {"", FIELD_U64, 0, NEEDED, max, 0};

	fields_expect(list, JSON_LIST);
	if (list->count != count)
		fields_refuse(list, "%zu integers are expected, not %zu", count, list->count);
	for (const struct json *item = list->members; item; item = item->next) {
		fields_read_one(item, &field, &number);
		into[item->index] = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
	}
}

static void read_qdisc(const struct json *object, struct qdisc *qdisc)
{
	struct reading reading = {0};
	const struct json *kind;
	enum qdisc_kind i = 0;

	fields_expect(object, JSON_OBJECT);
	kind = json_member(object, "kind");
	if (!kind)
		fields_refuse(object, "'kind' is missing");
	fields_expect(kind, JSON_TEXT);
	while (i < QDISC_KINDS && strcmp(kind->text, kinds[i].name))
		i++;
	if (i == QDISC_KINDS)
		fields_refuse(kind, "'%s' is not a kind of queue the agent knows", kind->text);
	fields_read(object, kinds[i].fields, kinds[i].count, &reading);
	reading.qdisc.kind = i;
	if (TC_H_MIN(reading.qdisc.handle))
		fields_refuse(object, "a handle has no minor number");
	reading.qdisc.configured = i == QDISC_CAKE && json_member(object, "isolation");
	if (reading.gemodel) {
		reading.qdisc.bursty_loss = true;
		read_numbers(reading.gemodel, 4, 1ull << 32, reading.qdisc.gemodel);
	}
	if (reading.stab) {
		uint32_t stab[256];

		read_numbers(reading.stab, 256, UINT8_MAX, stab);
		for (int cell = 0; cell < 256; cell++)
			reading.qdisc.stab[cell] = (uint8_t)stab[cell];
	}
	if ((i == QDISC_TBF && !reading.qdisc.rate_bps) ||
	    ((i == QDISC_TBF || i == QDISC_LH_LINK) && reading.qdisc.rate_bps % 8))
		fields_refuse(object, "rate_bps must be a multiple of 8: the kernel counts bytes");
	*qdisc = reading.qdisc;
}

void plan_read_qdiscs(const struct json *list, struct qdisc **qdiscs, size_t *count)
{
	fields_expect(list, JSON_LIST);
	if (list->count > QDISCS_PER_END)
		fields_refuse(list, "at most %d queues a device", QDISCS_PER_END);
	*qdiscs = need_memory(list->count, sizeof(**qdiscs));
	*count = list->count;
	for (const struct json *item = list->members; item; item = item->next)
		read_qdisc(item, &(*qdiscs)[item->index]);
}
