// SPDX-License-Identifier: GPL-2.0
/*
 * lhfixed: a window that never changes.
 *
 * A measuring instrument, not a congestion control for a network. With W segments always in flight
 * the answers are known in closed form, and a laboratory that misses them cannot be believed on anything else:
 *
 *	goodput = W * MSS / RTT        while W <= bandwidth * base RTT
 *	RTT     = W * frame / rate     once the bottleneck is full
 *	queue   = W - pipe
 *
 * The window is set when the connection is established and kept through recovery; only a retransmission timeout may
 * lower it, for as long as the stack is in the Loss state's first transmission.
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "lh_param.h"

LH_PARAM(cwnd, packets, 10, 1, 1000000, "the window");

static u32 lhfixed_window(const struct tcp_sock *tp)
{
	return min(READ_ONCE(cwnd), tp->snd_cwnd_clamp);
}

static void lhfixed_init(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), lhfixed_window(tcp_sk(sk)));
}

/* cong_control: the stack's own reductions do not run at all. */
static void LH_CONG_CONTROL(lhfixed_main)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, lhfixed_window(tp));
}

static u32 lhfixed_ssthresh(struct sock *sk)
{
	return lhfixed_window(tcp_sk(sk));
}

static u32 lhfixed_undo_cwnd(struct sock *sk)
{
	return lhfixed_window(tcp_sk(sk));
}

static struct tcp_congestion_ops lhfixed __read_mostly = {
	.init = lhfixed_init,
	.cong_control = lhfixed_main,
	.ssthresh = lhfixed_ssthresh,
	.undo_cwnd = lhfixed_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "lhfixed",
};

static int __init lhfixed_register(void)
{
	return tcp_register_congestion_control(&lhfixed);
}

static void __exit lhfixed_unregister(void)
{
	tcp_unregister_congestion_control(&lhfixed);
}

module_init(lhfixed_register);
module_exit(lhfixed_unregister);

MODULE_DESCRIPTION("a constant window, for runs whose result is known");
MODULE_LICENSE("GPL");
