/* SPDX-License-Identifier: GPL-2.0 */
/* Functions on tracepoints of the kernel, which are found by their names. lh_trace.c has its own, as its bytes are part of the ids of runs. */
#ifndef HOOKS_H
#define HOOKS_H

#include <linux/printk.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

struct hook {
	const char *name;
	void *function;
	struct tracepoint *point;
};

struct hooks {
	struct hook *list;
	unsigned int count, hooked; /* the first `hooked` of them are registered */
};

static inline void match_hook(struct tracepoint *point, void *hooks)
{
	const struct hooks *all = hooks;
	unsigned int i;

	for (i = 0; i < all->count; i++)
		if (!strcmp(all->list[i].name, point->name))
			all->list[i].point = point;
}

/* After an error those that are registered stay. */
static inline int hook_all(struct hooks *hooks)
{
	for_each_kernel_tracepoint(match_hook, hooks);
	for (; hooks->hooked < hooks->count; hooks->hooked++) {
		struct hook *next = &hooks->list[hooks->hooked];
		int error = next->point ? tracepoint_probe_register(next->point, next->function, NULL) : -ENOENT;

		if (!error)
			continue;
		pr_err(KBUILD_MODNAME ": hooking tracepoint %s: error %d\n", next->name, error);
		return error;
	}
	return 0;
}

static inline void unhook_all(struct hooks *hooks)
{
	while (hooks->hooked) {
		const struct hook *last = &hooks->list[--hooks->hooked];

		tracepoint_probe_unregister(last->point, last->function, NULL);
	}
	tracepoint_synchronize_unregister();
}

/* At kfree_skb: in a queue a packet begins with its Ethernet header; one that has arrived is past it. */
static inline bool is_outbound(const struct sk_buff *skb)
{
	return skb_mac_header_was_set(skb) && skb_mac_header(skb) == skb->data;
}

#endif
