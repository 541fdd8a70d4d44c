// SPDX-License-Identifier: GPL-2.0
/* Its functions are not static, and have no prototypes. */
#include <linux/module.h>
#include <net/tcp.h>

u32 open_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

void open_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

struct tcp_congestion_ops open_ops = {
	.ssthresh	= open_ssthresh,
	.cong_avoid	= open_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "open",
};

static int __init open_load(void)
{
	return tcp_register_congestion_control(&open_ops);
}

static void __exit open_unload(void)
{
	tcp_unregister_congestion_control(&open_ops);
}

module_init(open_load);
module_exit(open_unload);
MODULE_LICENSE("GPL");
