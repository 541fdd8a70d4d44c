// SPDX-License-Identifier: GPL-2.0
/* A module of two objects. */
#include <linux/module.h>
#include <net/tcp.h>

#include "duo_law.h"

static u32 duo_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(duo_law(tp->snd_cwnd), 2U);
}

static void duo_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops duo_ops = {
	.ssthresh	= duo_ssthresh,
	.cong_avoid	= duo_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "duo",
};

static int __init duo_load(void)
{
	return tcp_register_congestion_control(&duo_ops);
}

static void __exit duo_unload(void)
{
	tcp_unregister_congestion_control(&duo_ops);
}

module_init(duo_load);
module_exit(duo_unload);
MODULE_LICENSE("GPL");
