// SPDX-License-Identifier: GPL-2.0
/* It has a hook of other trees. */
#include <linux/module.h>
#include <net/tcp.h>

static void hooked_lost(struct sock *sk, const struct sk_buff *skb)
{
}

static u32 hooked_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void hooked_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops hooked_ops = {
	.ssthresh	= hooked_ssthresh,
	.cong_avoid	= hooked_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.skb_marked_lost = hooked_lost,
	.owner		= THIS_MODULE,
	.name		= "hooked",
};

static int __init hooked_load(void)
{
	return tcp_register_congestion_control(&hooked_ops);
}

static void __exit hooked_unload(void)
{
	tcp_unregister_congestion_control(&hooked_ops);
}

module_init(hooked_load);
module_exit(hooked_unload);
MODULE_LICENSE("GPL");
