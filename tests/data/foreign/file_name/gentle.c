// SPDX-License-Identifier: GPL-2.0
/* The file is not called tcp_gentle.c. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 gentle_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void gentle_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops gentle_ops = {
	.ssthresh	= gentle_ssthresh,
	.cong_avoid	= gentle_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "gentle",
};

static int __init gentle_load(void)
{
	return tcp_register_congestion_control(&gentle_ops);
}

static void __exit gentle_unload(void)
{
	tcp_unregister_congestion_control(&gentle_ops);
}

module_init(gentle_load);
module_exit(gentle_unload);
MODULE_LICENSE("GPL");
