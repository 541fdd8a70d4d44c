// SPDX-License-Identifier: GPL-2.0
/* One of several controls in a folder, of which one is broken. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 eager_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void eager_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops eager_ops = {
	.ssthresh	= eager_ssthresh,
	.cong_avoid	= eager_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "eager",
};

static int __init eager_load(void)
{
	return tcp_register_congestion_control(&eager_ops);
}

static void __exit eager_unload(void)
{
	tcp_unregister_congestion_control(&eager_ops);
}

module_init(eager_load);
module_exit(eager_unload);
MODULE_LICENSE("GPL");
