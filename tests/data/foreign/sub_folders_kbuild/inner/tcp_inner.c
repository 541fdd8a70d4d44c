// SPDX-License-Identifier: GPL-2.0
/* The flags are those of the folder above. */
#include <linux/module.h>
#include <net/tcp.h>
#include "share.h"

static u32 inner_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(SHARE(tp->snd_cwnd), 2U);
}

static void inner_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops inner_ops = {
	.ssthresh	= inner_ssthresh,
	.cong_avoid	= inner_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "inner",
};

static int __init inner_load(void)
{
	return tcp_register_congestion_control(&inner_ops);
}

static void __exit inner_unload(void)
{
	tcp_unregister_congestion_control(&inner_ops);
}

module_init(inner_load);
module_exit(inner_unload);
MODULE_LICENSE("GPL");
