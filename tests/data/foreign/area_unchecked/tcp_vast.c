// SPDX-License-Identifier: GPL-2.0
/* Its private area is larger than the kernel's, and nothing in it checks that. */
#include <linux/module.h>
#include <net/tcp.h>

struct vast {
	u32 samples[40];
	u32 next;
};

static void vast_init(struct sock *sk)
{
	struct vast *ca;

	ca = inet_csk_ca(sk);
	memset(ca, 0, sizeof(*ca));
}

static u32 vast_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void vast_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops vast_ops = {
	.ssthresh	= vast_ssthresh,
	.cong_avoid	= vast_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.init		= vast_init,
	.owner		= THIS_MODULE,
	.name		= "vast",
};

static int __init vast_load(void)
{
	return tcp_register_congestion_control(&vast_ops);
}

static void __exit vast_unload(void)
{
	tcp_unregister_congestion_control(&vast_ops);
}

module_init(vast_load);
module_exit(vast_unload);
MODULE_LICENSE("GPL");
