// SPDX-License-Identifier: GPL-2.0
/* Its Makefile is a part of the kernel's, with the kernel's own objects. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 treelike_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void treelike_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops treelike_ops = {
	.ssthresh	= treelike_ssthresh,
	.cong_avoid	= treelike_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "treelike",
};

static int __init treelike_load(void)
{
	return tcp_register_congestion_control(&treelike_ops);
}

static void __exit treelike_unload(void)
{
	tcp_unregister_congestion_control(&treelike_ops);
}

module_init(treelike_load);
module_exit(treelike_unload);
MODULE_LICENSE("GPL");
