// SPDX-License-Identifier: GPL-2.0
/* It has functions of its own for kernels that lack them. */
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/random.h>
#include <linux/timer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 19, 0)
static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 value)
{
	tp->snd_cwnd = value;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define get_random_u32_below(ceiling) (get_random_u32() % (ceiling))
#else
static inline u32 prandom_u32_max(u32 ceiling)
{
	return get_random_u32_below(ceiling);
}
#endif

static u32 shims_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp) * (6 + get_random_u32_below(2) + prandom_u32_max(1)) / 10, 2U);
}

static void shims_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops shims_ops = {
	.ssthresh	= shims_ssthresh,
	.cong_avoid	= shims_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "shims",
};

static int __init shims_load(void)
{
	return tcp_register_congestion_control(&shims_ops);
}

static void __exit shims_unload(void)
{
	tcp_unregister_congestion_control(&shims_ops);
}

module_init(shims_load);
module_exit(shims_unload);
MODULE_LICENSE("GPL");
