// SPDX-License-Identifier: GPL-2.0
/* One of several controls in a folder without a Makefile, of which one is broken. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 left_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void left_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops left_ops = {
	.ssthresh	= left_ssthresh,
	.cong_avoid	= left_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "left",
};

static int __init left_load(void)
{
	return tcp_register_congestion_control(&left_ops);
}

static void __exit left_unload(void)
{
	tcp_unregister_congestion_control(&left_ops);
}

module_init(left_load);
module_exit(left_unload);
MODULE_LICENSE("GPL");
