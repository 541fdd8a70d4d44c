// SPDX-License-Identifier: GPL-2.0
/* Its flags have the name that Kbuild had before 2.6.24. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 extra_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * EXTRA_SHARE / 10, 2U);
}

static void extra_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops extra_ops = {
	.ssthresh	= extra_ssthresh,
	.cong_avoid	= extra_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "extra",
};

static int __init extra_load(void)
{
	return tcp_register_congestion_control(&extra_ops);
}

static void __exit extra_unload(void)
{
	tcp_unregister_congestion_control(&extra_ops);
}

module_init(extra_load);
module_exit(extra_unload);
MODULE_LICENSE("GPL");
