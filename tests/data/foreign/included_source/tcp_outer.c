// SPDX-License-Identifier: GPL-2.0
/* It includes a file in C. */
#include <linux/module.h>
#include <net/tcp.h>

#include "law.c"

static u32 outer_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(law_of(tp->snd_cwnd), 2U);
}

static void outer_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops outer_ops = {
	.ssthresh	= outer_ssthresh,
	.cong_avoid	= outer_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "outer",
};

static int __init outer_load(void)
{
	return tcp_register_congestion_control(&outer_ops);
}

static void __exit outer_unload(void)
{
	tcp_unregister_congestion_control(&outer_ops);
}

module_init(outer_load);
module_exit(outer_unload);
MODULE_LICENSE("GPL");
