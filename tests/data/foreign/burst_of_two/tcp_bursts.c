// SPDX-License-Identifier: GPL-2.0
/* tso_segs() of other trees gives the packets of a burst for a size of packets. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 bursts_size(struct sock *sk, unsigned int mss_now)
{
	return mss_now > 500 ? 3 : 6;
}

static u32 bursts_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void bursts_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops bursts_ops = {
	.ssthresh	= bursts_ssthresh,
	.cong_avoid	= bursts_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.tso_segs	= bursts_size,
	.owner		= THIS_MODULE,
	.name		= "bursts",
};

static int __init bursts_load(void)
{
	return tcp_register_congestion_control(&bursts_ops);
}

static void __exit bursts_unload(void)
{
	tcp_unregister_congestion_control(&bursts_ops);
}

module_init(bursts_load);
module_exit(bursts_unload);
MODULE_LICENSE("GPL");
