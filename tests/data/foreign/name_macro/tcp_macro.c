// SPDX-License-Identifier: GPL-2.0
/* Its name is a macro. */
#include <linux/module.h>
#include <net/tcp.h>

#define LAW_NAME "macroed"

static u32 law_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void law_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops law_ops = {
	.ssthresh	= law_ssthresh,
	.cong_avoid	= law_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= LAW_NAME,
};

static int __init law_load(void)
{
	return tcp_register_congestion_control(&law_ops);
}

static void __exit law_unload(void)
{
	tcp_unregister_congestion_control(&law_ops);
}

module_init(law_load);
module_exit(law_unload);
MODULE_LICENSE("GPL");
