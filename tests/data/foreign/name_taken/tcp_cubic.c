// SPDX-License-Identifier: GPL-2.0
/* It registers the name of a control of the kernel. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 halver_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd / 2, 2U);
}

static void halver_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops halver_ops = {
	.ssthresh	= halver_ssthresh,
	.cong_avoid	= halver_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "cubic",
};

static int __init halver_load(void)
{
	return tcp_register_congestion_control(&halver_ops);
}

static void __exit halver_unload(void)
{
	tcp_unregister_congestion_control(&halver_ops);
}

module_init(halver_load);
module_exit(halver_unload);
MODULE_LICENSE("GPL");
