// SPDX-License-Identifier: GPL-2.0
/* The name of its file has a hyphen. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 two_words_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void two_words_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops two_words_ops = {
	.ssthresh	= two_words_ssthresh,
	.cong_avoid	= two_words_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "two-words",
};

static int __init two_words_load(void)
{
	return tcp_register_congestion_control(&two_words_ops);
}

static void __exit two_words_unload(void)
{
	tcp_unregister_congestion_control(&two_words_ops);
}

module_init(two_words_load);
module_exit(two_words_unload);
MODULE_LICENSE("GPL");
