// SPDX-License-Identifier: GPL-2.0
/* Kbuild has the list of objects, and Makefile the rules. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 listed_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void listed_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops listed_ops = {
	.ssthresh	= listed_ssthresh,
	.cong_avoid	= listed_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "listed",
};

static int __init listed_load(void)
{
	return tcp_register_congestion_control(&listed_ops);
}

static void __exit listed_unload(void)
{
	tcp_unregister_congestion_control(&listed_ops);
}

module_init(listed_load);
module_exit(listed_unload);
MODULE_LICENSE("GPL");
