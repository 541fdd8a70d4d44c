// SPDX-License-Identifier: GPL-2.0
/* Its Makefile makes it a part of the kernel. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 always_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void always_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops always_ops = {
	.ssthresh	= always_ssthresh,
	.cong_avoid	= always_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "always",
};

static int __init always_load(void)
{
	return tcp_register_congestion_control(&always_ops);
}

static void __exit always_unload(void)
{
	tcp_unregister_congestion_control(&always_ops);
}

module_init(always_load);
module_exit(always_unload);
MODULE_LICENSE("GPL");
