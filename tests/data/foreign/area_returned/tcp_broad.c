// SPDX-License-Identifier: GPL-2.0
/* A function returns its private area, which is larger than the kernel's. */
#include <linux/module.h>
#include <net/tcp.h>

typedef struct {
	u64 samples[20];
} broad_t;

static inline broad_t *broad_area(struct sock *sk)
{
	return inet_csk_ca(sk);
}

static void broad_init(struct sock *sk)
{
	memset(broad_area(sk), 0, sizeof(broad_t));
}

static u32 broad_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void broad_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops broad_ops = {
	.ssthresh	= broad_ssthresh,
	.cong_avoid	= broad_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.init		= broad_init,
	.owner		= THIS_MODULE,
	.name		= "broad",
};

static int __init broad_load(void)
{
	return tcp_register_congestion_control(&broad_ops);
}

static void __exit broad_unload(void)
{
	tcp_unregister_congestion_control(&broad_ops);
}

module_init(broad_load);
module_exit(broad_unload);
MODULE_LICENSE("GPL");
