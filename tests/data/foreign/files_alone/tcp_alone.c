// SPDX-License-Identifier: GPL-2.0
/* Several files without a Makefile: one calls the functions of another, and a program uses neither. */
#include <linux/module.h>
#include <net/tcp.h>

u32 alone_law(u32 window);

static u32 alone_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(alone_law(tp->snd_cwnd), 2U);
}

static void alone_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops alone_ops = {
	.ssthresh	= alone_ssthresh,
	.cong_avoid	= alone_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "alone",
};

static int __init alone_load(void)
{
	return tcp_register_congestion_control(&alone_ops);
}

static void __exit alone_unload(void)
{
	tcp_unregister_congestion_control(&alone_ops);
}

module_init(alone_load);
module_exit(alone_unload);
MODULE_LICENSE("GPL");
