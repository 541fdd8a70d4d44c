// SPDX-License-Identifier: GPL-2.0
/* It names no license. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 bare_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void bare_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops bare_ops = {
	.ssthresh	= bare_ssthresh,
	.cong_avoid	= bare_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "bare",
};

static int __init bare_load(void)
{
	return tcp_register_congestion_control(&bare_ops);
}

static void __exit bare_unload(void)
{
	tcp_unregister_congestion_control(&bare_ops);
}

module_init(bare_load);
module_exit(bare_unload);
