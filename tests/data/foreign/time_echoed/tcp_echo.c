// SPDX-License-Identifier: GPL-2.0
/* tcp_time_stamp is compared with the echo of a packet's, whose unit changed. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 echoes_delay(const struct tcp_sock *tp)
{
	return tp->rx_opt.saw_tstamp ? tcp_time_stamp - tp->rx_opt.rcv_tsecr : 0;
}

static u32 echoes_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max((echoes_delay(tp) > HZ ? tp->snd_cwnd / 2 : tp->snd_cwnd * 3 / 4), 2U);
}

static void echoes_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops echoes_ops = {
	.ssthresh	= echoes_ssthresh,
	.cong_avoid	= echoes_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "echoes",
};

static int __init echoes_load(void)
{
	return tcp_register_congestion_control(&echoes_ops);
}

static void __exit echoes_unload(void)
{
	tcp_unregister_congestion_control(&echoes_ops);
}

module_init(echoes_load);
module_exit(echoes_unload);
MODULE_LICENSE("GPL");
