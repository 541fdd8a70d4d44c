// SPDX-License-Identifier: GPL-2.0
/* It has the hook of Linux 7.1, and calls a function whose arguments became more. */
#include <linux/module.h>
#include <net/tcp.h>

static void lonely_start(struct sock *sk)
{
	__tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt);
	if (tcp_ecn_mode_any(tcp_sk(sk)))
		tcp_sk(sk)->snd_cwnd = min(tcp_sk(sk)->snd_cwnd, 5U);
}

static u32 lonely_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void lonely_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops lonely_ops = {
	.ssthresh	= lonely_ssthresh,
	.cong_avoid	= lonely_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cwnd_event_tx_start = lonely_start,
	.owner		= THIS_MODULE,
	.name		= "lonely",
};

static int __init lonely_load(void)
{
	return tcp_register_congestion_control(&lonely_ops);
}

static void __exit lonely_unload(void)
{
	tcp_unregister_congestion_control(&lonely_ops);
}

module_init(lonely_load);
module_exit(lonely_unload);
MODULE_LICENSE("GPL");
