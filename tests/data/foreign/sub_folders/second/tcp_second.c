// SPDX-License-Identifier: GPL-2.0
/* Each folder has a module, and a header is shared. */
#include <linux/module.h>
#include <net/tcp.h>
#include "share.h"

static u32 second_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(SHARE(tp->snd_cwnd), 2U);
}

static void second_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops second_ops = {
	.ssthresh	= second_ssthresh,
	.cong_avoid	= second_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "second",
};

static int __init second_load(void)
{
	return tcp_register_congestion_control(&second_ops);
}

static void __exit second_unload(void)
{
	tcp_unregister_congestion_control(&second_ops);
}

module_init(second_load);
module_exit(second_unload);
MODULE_LICENSE("GPL");
