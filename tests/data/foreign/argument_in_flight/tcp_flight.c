// SPDX-License-Identifier: GPL-2.0
/* The third argument of cong_avoid() is the number of packets in flight. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 flight_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void flight_avoid(struct sock *sk, u32 ack, u32 in_flight)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (in_flight >= tp->snd_cwnd)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1);
}

static struct tcp_congestion_ops flight_ops = {
	.ssthresh	= flight_ssthresh,
	.cong_avoid	= flight_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "flight",
};

static int __init flight_load(void)
{
	return tcp_register_congestion_control(&flight_ops);
}

static void __exit flight_unload(void)
{
	tcp_unregister_congestion_control(&flight_ops);
}

module_init(flight_load);
module_exit(flight_unload);
MODULE_LICENSE("GPL");
