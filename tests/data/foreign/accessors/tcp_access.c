// SPDX-License-Identifier: GPL-2.0
/* It reads and sets the window by the functions of Linux 5.19. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 access_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp) / 2, 2U);
}

static void access_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_cwnd_limited(sk))
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + acked, tp->snd_cwnd_clamp));
}

static struct tcp_congestion_ops access_ops = {
	.ssthresh	= access_ssthresh,
	.cong_avoid	= access_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "access",
};

static int __init access_load(void)
{
	return tcp_register_congestion_control(&access_ops);
}

static void __exit access_unload(void)
{
	tcp_unregister_congestion_control(&access_ops);
}

module_init(access_load);
module_exit(access_unload);
MODULE_LICENSE("GPL");
