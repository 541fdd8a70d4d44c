// SPDX-License-Identifier: GPL-2.0
/* One of several controls in a folder, of which one is broken. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 calm_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void calm_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops calm_ops = {
	.ssthresh	= calm_ssthresh,
	.cong_avoid	= calm_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "calm",
};

static int __init calm_load(void)
{
	return tcp_register_congestion_control(&calm_ops);
}

static void __exit calm_unload(void)
{
	tcp_unregister_congestion_control(&calm_ops);
}

module_init(calm_load);
module_exit(calm_unload);
MODULE_LICENSE("GPL");
