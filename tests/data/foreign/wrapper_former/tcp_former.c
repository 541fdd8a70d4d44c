// SPDX-License-Identifier: GPL-2.0
/* Its Makefile was written for Linux 4, with SUBDIRS and uname in quotes. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 formerly_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void formerly_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops formerly_ops = {
	.ssthresh	= formerly_ssthresh,
	.cong_avoid	= formerly_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "formerly",
};

static int __init formerly_load(void)
{
	return tcp_register_congestion_control(&formerly_ops);
}

static void __exit formerly_unload(void)
{
	tcp_unregister_congestion_control(&formerly_ops);
}

module_init(formerly_load);
module_exit(formerly_unload);
MODULE_LICENSE("GPL");
