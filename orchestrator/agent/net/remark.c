/*
 * tc filter add dev DEV egress protocol ip u32 match ip dsfield 0x02 0x03
 *	action pedit munge ip dsfield set 0x01 retain 0x03 pipe action csum ip4h
 *
 * Packets without ECN, as the first of a connection, and marked ones pass unchanged.
 */
#include "net/remark.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_pedit.h>
#include <stdio.h>
#include <string.h>

#include "net/netlink.h"
#include "net/readback.h"
#include "system/fatal.h"

#define EGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)
/* The ECN field in the first word of an IPv4 header. */
#define ECN_FIELD 0x00030000u
#define ECT0	  0x00020000u
#define ECT1	  0x00010000u
#define PEDIT	  1 /* places in the list of actions */
#define CSUM	  2

struct selection {
	struct tc_u32_sel head;
	struct tc_u32_key key;
};

struct munge {
	struct tc_pedit_sel head;
	struct tc_pedit_key key;
};

static struct tc_u32_key packets_with_ect0(void)
{
	return (struct tc_u32_key){.mask = htonl(ECN_FIELD), .val = htonl(ECT0)};
}

static struct tc_pedit_key to_ect1(void)
{
	return (struct tc_pedit_key){.mask = htonl(~ECN_FIELD), .val = htonl(ECT1)};
}

static void add_action(struct request *request, uint16_t place, const char *kind,
		       uint16_t parameters, const void *data, size_t size)
{
	size_t action = request_nest(request, place), options;

	request_add_text(request, TCA_ACT_KIND, kind);
	options = request_nest(request, TCA_ACT_OPTIONS);
	request_add(request, parameters, data, size);
	request_unnest(request, options);
	request_unnest(request, action);
}

static void ask_for(const struct end *end)
{
	struct selection selection = {.head = {.flags = TC_U32_TERMINAL, .nkeys = 1},
				      .key = packets_with_ect0()};
	struct munge munge = {.head = {.action = TC_ACT_PIPE, .nkeys = 1}, .key = to_ect1()};
	struct tc_csum checksum = {.action = TC_ACT_OK,
				   .update_flags = TCA_CSUM_UPDATE_FLAG_IPV4HDR};
	struct tcmsg body = {
		.tcm_ifindex = (int)end->index,
		.tcm_parent = EGRESS,
		.tcm_info = TC_H_MAKE(1u << 16, htons(ETH_P_IP)),
	};
	struct request request;
	size_t options, actions;
	char why[256], subject[128];

	request_begin(&request, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	request_add_text(&request, TCA_KIND, "u32");
	options = request_nest(&request, TCA_OPTIONS);
	request_add(&request, TCA_U32_SEL, &selection, sizeof(selection));
	actions = request_nest(&request, TCA_U32_ACT);
	add_action(&request, PEDIT, "pedit", TCA_PEDIT_PARMS, &munge, sizeof(munge));
	add_action(&request, CSUM, "csum", TCA_CSUM_PARMS, &checksum, sizeof(checksum));
	request_unnest(&request, actions);
	request_unnest(&request, options);
	if (!netlink_ask(end->node->rtnl_fd, &request, why, sizeof(why)))
		return;
	snprintf(subject, sizeof(subject), "ECT(1) on %s of node %s", end->dev, end->node->name);
	die("installing the filter that sets", subject,
	    "the kernel needs u32 filters and the actions pedit and csum", "%s", why);
}

static const struct rtattr *action_options(const struct attributes *actions, int place,
					   const char *kind)
{
	struct attributes action;

	if (!actions->table[place])
		return NULL;
	attributes_parse(&action, RTA_DATA(actions->table[place]),
			 RTA_PAYLOAD(actions->table[place]));
	if (!action.table[TCA_ACT_KIND] || strcmp(RTA_DATA(action.table[TCA_ACT_KIND]), kind))
		return NULL;
	return action.table[TCA_ACT_OPTIONS];
}

static bool does_as_asked(const struct rtattr *list)
{
	struct attributes actions, parts;
	const struct tc_pedit_key asked = to_ect1();
	struct munge munge;
	struct tc_csum checksum;
	const struct rtattr *pedit, *csum;

	if (!list)
		return false;
	attributes_parse(&actions, RTA_DATA(list), RTA_PAYLOAD(list));
	pedit = action_options(&actions, PEDIT, "pedit");
	csum = action_options(&actions, CSUM, "csum");
	if (!pedit || !csum)
		return false;
	attributes_parse(&parts, RTA_DATA(pedit), RTA_PAYLOAD(pedit));
	attribute_copy(parts.table[TCA_PEDIT_PARMS], &munge, sizeof(munge));
	attributes_parse(&parts, RTA_DATA(csum), RTA_PAYLOAD(csum));
	attribute_copy(parts.table[TCA_CSUM_PARMS], &checksum, sizeof(checksum));
	return munge.head.nkeys == 1 && munge.head.action == TC_ACT_PIPE &&
	       munge.key.mask == asked.mask && munge.key.val == asked.val && !munge.key.off &&
	       checksum.update_flags == TCA_CSUM_UPDATE_FLAG_IPV4HDR;
}

struct filters {
	int matching, others;
};

static void visit_filter(const struct nlmsghdr *message, void *context)
{
	struct attributes attributes, options;
	const struct tc_u32_key asked = packets_with_ect0();
	struct selection read;
	struct filters *found = context;

	attributes_of(&attributes, message, sizeof(struct tcmsg));
	if (!attributes.table[TCA_OPTIONS])
		return;
	attributes_parse(&options, RTA_DATA(attributes.table[TCA_OPTIONS]),
			 RTA_PAYLOAD(attributes.table[TCA_OPTIONS]));
	/* The table that filters hang in has an entry too. */
	if (!options.table[TCA_U32_SEL])
		return;
	attribute_copy(options.table[TCA_U32_SEL], &read, sizeof(read));
	if (read.head.nkeys == 1 && read.key.mask == asked.mask && read.key.val == asked.val &&
	    !read.key.off && does_as_asked(options.table[TCA_U32_ACT]))
		found->matching++;
	else
		found->others++;
}

void remark_install(const struct end *end)
{
	struct tcmsg body = {.tcm_ifindex = (int)end->index, .tcm_parent = EGRESS};
	struct filters found = {0};
	struct request request;

	ask_for(end);
	request_begin(&request, RTM_GETTFILTER, 0, &body, sizeof(body));
	netlink_dump(end->node->rtnl_fd, &request, visit_filter, &found);
	compare_number(end, "filter that sets ECT(1)", 1, (uint64_t)found.matching);
	compare_number(end, "other filter", 0, (uint64_t)found.others);
}
