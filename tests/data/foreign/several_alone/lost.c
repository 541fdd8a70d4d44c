// SPDX-License-Identifier: GPL-2.0
/* One of several controls in a folder without a Makefile, of which one is broken. */
#include <linux/module.h>
#include <net/tcp.h>

static int lost_value = ;

static u32 lost_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void lost_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops lost_ops = {
	.ssthresh	= lost_ssthresh,
	.cong_avoid	= lost_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "lost",
};

static int __init lost_load(void)
{
	return tcp_register_congestion_control(&lost_ops);
}

static void __exit lost_unload(void)
{
	tcp_unregister_congestion_control(&lost_ops);
}

module_init(lost_load);
module_exit(lost_unload);
MODULE_LICENSE("GPL");
