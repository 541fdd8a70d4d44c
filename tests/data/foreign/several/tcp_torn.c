// SPDX-License-Identifier: GPL-2.0
/* One of several controls in a folder, of which one is broken. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 torn_table[] = { 1, 2, 3 ;

static u32 torn_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void torn_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops torn_ops = {
	.ssthresh	= torn_ssthresh,
	.cong_avoid	= torn_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "torn",
};

static int __init torn_load(void)
{
	return tcp_register_congestion_control(&torn_ops);
}

static void __exit torn_unload(void)
{
	tcp_unregister_congestion_control(&torn_ops);
}

module_init(torn_load);
module_exit(torn_unload);
MODULE_LICENSE("GPL");
