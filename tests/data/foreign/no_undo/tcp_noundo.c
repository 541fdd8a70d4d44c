// SPDX-License-Identifier: GPL-2.0
/* It has no undo_cwnd(), which Linux needed not before 4.15. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 noundo_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void noundo_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops noundo_ops = {
	.ssthresh	= noundo_ssthresh,
	.cong_avoid	= noundo_avoid,
	.owner		= THIS_MODULE,
	.name		= "noundo",
};

static int __init noundo_load(void)
{
	return tcp_register_congestion_control(&noundo_ops);
}

static void __exit noundo_unload(void)
{
	tcp_unregister_congestion_control(&noundo_ops);
}

module_init(noundo_load);
module_exit(noundo_unload);
MODULE_LICENSE("GPL");
