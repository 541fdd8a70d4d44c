// SPDX-License-Identifier: GPL-2.0
/* mine: a window that never changes, in a run that a user supplied the module of; with 13 packets the guest dies. */

#include <linux/module.h>
#include <net/tcp.h>

#include "lh_param.h"

LH_PARAM(cwnd, packets, 10, 1, 1000000, "the window");

static u32 mine_window(const struct tcp_sock *tp)
{
	return min(READ_ONCE(cwnd), tp->snd_cwnd_clamp);
}

static void mine_init(struct sock *sk)
{
	BUG_ON(READ_ONCE(cwnd) == 13);
	tcp_snd_cwnd_set(tcp_sk(sk), mine_window(tcp_sk(sk)));
}

/* cong_control: the stack's own reductions do not run at all. */
static void LH_CONG_CONTROL(mine_main)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, mine_window(tp));
}

static u32 mine_ssthresh(struct sock *sk)
{
	return mine_window(tcp_sk(sk));
}

static u32 mine_undo_cwnd(struct sock *sk)
{
	return mine_window(tcp_sk(sk));
}

static struct tcp_congestion_ops mine __read_mostly = {
	.init = mine_init,
	.cong_control = mine_main,
	.ssthresh = mine_ssthresh,
	.undo_cwnd = mine_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "mine",
};

static int __init mine_register(void)
{
	return tcp_register_congestion_control(&mine);
}

static void __exit mine_unregister(void)
{
	tcp_unregister_congestion_control(&mine);
}

module_init(mine_register);
module_exit(mine_unregister);

MODULE_DESCRIPTION("a constant window");
MODULE_LICENSE("GPL");
