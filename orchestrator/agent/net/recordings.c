/* The rows of a table are a file of the run, as kmod/lh_link.h lays them out: instant and value, in the order of time. */
#include "net/recordings.h"

#include <errno.h>
#include <lh_link.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <string.h>

#include "net/netlink.h"
#include "plan/qdiscs.h"
#include "system/fatal.h"

#define ROWS_A_REQUEST 240

static const struct qdisc *link_of(const struct recorded_table *table)
{
	const struct end *end = table->end;

	for (size_t i = 0; i < end->qdisc_count; i++)
		if (end->qdiscs[i].kind == QDISC_LH_LINK)
			return &end->qdiscs[i];
	die("giving a recording to the link", end->dev, "", "it has no qdisc of the kind %s",
	    qdisc_kind_name(QDISC_LH_LINK));
}

static size_t begin_change(struct request *request, const struct recorded_table *table)
{
	const struct qdisc *qdisc = link_of(table);
	struct tcmsg body = {
		.tcm_ifindex = (int)table->end->index,
		.tcm_parent = qdisc->parent,
		.tcm_handle = qdisc->handle,
	};

	request_begin(request, RTM_NEWQDISC, 0, &body, sizeof(body));
	request_add_text(request, TCA_KIND, qdisc_kind_name(qdisc->kind));
	return request_nest(request, TCA_OPTIONS);
}

static void ask(struct request *request, size_t nest, const struct recorded_table *table)
{
	const struct end *end = table->end;
	char why[256];

	request_unnest(request, nest);
	if (netlink_ask(end->node->rtnl_fd, request, why, sizeof(why)))
		die("giving a recording to the link", end->dev, "", "%s: %s", table->file, why);
}

static void add_rows(const struct recorded_table *table, FILE *file)
{
	struct lh_link_row rows[ROWS_A_REQUEST];
	struct request request;

	for (uint32_t done = 0; done < table->rows;) {
		size_t wanted = table->rows - done;
		size_t got = fread(rows, sizeof(*rows),
				   wanted < ROWS_A_REQUEST ? wanted : ROWS_A_REQUEST, file);
		size_t nest;

		if (!got)
			die("reading the recording", table->file, "", "it has %u rows, not %u",
			    done, table->rows);
		nest = begin_change(&request, table);
		request_add(&request, LH_LINK_ROWS, rows, got * sizeof(*rows));
		ask(&request, nest, table);
		done += (uint32_t)got;
	}
}

static void load_table(const struct recorded_table *table)
{
	const struct lh_link_table about = {
		.kind = table->kind,
		.rows = table->rows,
		.end = table->length,
		.header_bytes = table->header_bytes,
	};
	FILE *file = fopen(table->file, "re");
	struct request request;
	size_t nest;

	if (!file)
		die("reading the recording", table->file, "", "%s", strerror(errno));
	nest = begin_change(&request, table);
	request_add(&request, LH_LINK_TABLE, &about, sizeof(about));
	ask(&request, nest, table);
	add_rows(table, file);
	fclose(file);
}

static bool is_here(const struct recorded_table *table)
{
	return !table->end->node->elsewhere;
}

void recordings_load(const struct plan *plan)
{
	for (size_t i = 0; i < plan->recording_count; i++)
		if (is_here(&plan->recordings[i]))
			load_table(&plan->recordings[i]);
}

void recordings_begin(const struct plan *plan, uint64_t at_ns)
{
	for (size_t i = 0; i < plan->recording_count; i++) {
		const struct recorded_table *table = &plan->recordings[i];
		struct request request;
		size_t nest;

		/* The tables of a link stand together, and begin together. */
		if (!is_here(table) || (i && table[-1].end == table->end))
			continue;
		nest = begin_change(&request, table);
		request_add_u64(&request, LH_LINK_BEGIN_NS, at_ns);
		ask(&request, nest, table);
	}
}
