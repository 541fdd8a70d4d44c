// SPDX-License-Identifier: GPL-2.0
/* Functions of TCP with the arguments that they had before Linux 4. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 args_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void args_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);

	if (!tcp_is_cwnd_limited(sk, in_flight))
		return;
	if (tp->snd_cwnd <= tp->snd_ssthresh)
		tcp_slow_start(tp, acked);
	else
		tcp_cong_avoid_ai(tp, tp->snd_cwnd);
}

static struct tcp_congestion_ops args_ops = {
	.ssthresh	= args_ssthresh,
	.cong_avoid	= args_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "args",
};

static int __init args_load(void)
{
	return tcp_register_congestion_control(&args_ops);
}

static void __exit args_unload(void)
{
	tcp_unregister_congestion_control(&args_ops);
}

module_init(args_load);
module_exit(args_unload);
MODULE_LICENSE("GPL");
