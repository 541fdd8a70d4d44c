// SPDX-License-Identifier: GPL-2.0
/* It includes a header that is not there. */
#include <linux/module.h>
#include <net/tcp.h>
#include "missing_law.h"

static u32 missing_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void missing_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops missing_ops = {
	.ssthresh	= missing_ssthresh,
	.cong_avoid	= missing_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "missing",
};

static int __init missing_load(void)
{
	return tcp_register_congestion_control(&missing_ops);
}

static void __exit missing_unload(void)
{
	tcp_unregister_congestion_control(&missing_ops);
}

module_init(missing_load);
module_exit(missing_unload);
MODULE_LICENSE("GPL");
