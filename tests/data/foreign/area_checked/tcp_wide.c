// SPDX-License-Identifier: GPL-2.0
/* Its private area is larger than the kernel's, and it checks that. */
#include <linux/module.h>
#include <net/tcp.h>

struct wide {
	u32 samples[40];
	u32 next;
};

static void wide_init(struct sock *sk)
{
	struct wide *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(struct wide) > ICSK_CA_PRIV_SIZE);
	memset(ca, 0, sizeof(*ca));
}

static u32 wide_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void wide_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops wide_ops = {
	.ssthresh	= wide_ssthresh,
	.cong_avoid	= wide_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.init		= wide_init,
	.owner		= THIS_MODULE,
	.name		= "wide",
};

static int __init wide_load(void)
{
	return tcp_register_congestion_control(&wide_ops);
}

static void __exit wide_unload(void)
{
	tcp_unregister_congestion_control(&wide_ops);
}

module_init(wide_load);
module_exit(wide_unload);
MODULE_LICENSE("GPL");
