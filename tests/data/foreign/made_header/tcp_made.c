// SPDX-License-Identifier: GPL-2.0
/* Its header is made by a script, which its Makefile starts. */
#include <linux/module.h>
#include <net/tcp.h>

#include "made.h"

static u32 made_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * MADE_SHARE / 100, 2U);
}

static void made_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops made_ops = {
	.ssthresh	= made_ssthresh,
	.cong_avoid	= made_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= MADE_NAME,
};

static int __init made_load(void)
{
	return tcp_register_congestion_control(&made_ops);
}

static void __exit made_unload(void)
{
	tcp_unregister_congestion_control(&made_ops);
}

module_init(made_load);
module_exit(made_unload);
MODULE_LICENSE("GPL");
