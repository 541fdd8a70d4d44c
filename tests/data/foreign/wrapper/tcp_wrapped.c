// SPDX-License-Identifier: GPL-2.0
/* Its Makefile serves make and Kbuild, which it tells apart by KERNELRELEASE. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 wrapped_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void wrapped_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops wrapped_ops = {
	.ssthresh	= wrapped_ssthresh,
	.cong_avoid	= wrapped_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "wrapped",
};

static int __init wrapped_load(void)
{
	return tcp_register_congestion_control(&wrapped_ops);
}

static void __exit wrapped_unload(void)
{
	tcp_unregister_congestion_control(&wrapped_ops);
}

module_init(wrapped_load);
module_exit(wrapped_unload);
MODULE_LICENSE("GPL");
