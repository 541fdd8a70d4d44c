// SPDX-License-Identifier: GPL-2.0
/* It has a mistake. */
#include <linux/module.h>
#include <net/tcp.h>

static const u32 typo_share = 7

static u32 typo_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void typo_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops typo_ops = {
	.ssthresh	= typo_ssthresh,
	.cong_avoid	= typo_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "typo",
};

static int __init typo_load(void)
{
	return tcp_register_congestion_control(&typo_ops);
}

static void __exit typo_unload(void)
{
	tcp_unregister_congestion_control(&typo_ops);
}

module_init(typo_load);
module_exit(typo_unload);
MODULE_LICENSE("GPL");
