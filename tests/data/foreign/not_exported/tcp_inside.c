// SPDX-License-Identifier: GPL-2.0
/* It calls a function of the kernel that no module may call. */
#include <linux/module.h>
#include <net/tcp.h>

void tcp_simple_retransmit_all(struct sock *sk);

static u32 inside_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max((tcp_simple_retransmit_all(sk), tp->snd_cwnd / 2), 2U);
}

static void inside_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops inside_ops = {
	.ssthresh	= inside_ssthresh,
	.cong_avoid	= inside_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "inside",
};

static int __init inside_load(void)
{
	return tcp_register_congestion_control(&inside_ops);
}

static void __exit inside_unload(void)
{
	tcp_unregister_congestion_control(&inside_ops);
}

module_init(inside_load);
module_exit(inside_unload);
MODULE_LICENSE("GPL");
