// SPDX-License-Identifier: GPL-2.0
/* tcp_time_stamp counts jiffies, as until Linux 4.12. */
#include <linux/module.h>
#include <net/tcp.h>

struct ticks {
	u32 cut_stamp;
};

static void ticks_init(struct sock *sk)
{
	struct ticks *ca = inet_csk_ca(sk);

	ca->cut_stamp = tcp_time_stamp;
}

/* Once in 100 ms at most. */
static u32 ticks_share(struct sock *sk)
{
	struct ticks *ca = inet_csk_ca(sk);
	u32 now = tcp_time_stamp;

	if (now - ca->cut_stamp < HZ / 10)
		return 9;
	ca->cut_stamp = now;
	return 7;
}

static u32 ticks_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * ticks_share(sk) / 10, 2U);
}

static void ticks_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops ticks_ops = {
	.ssthresh	= ticks_ssthresh,
	.cong_avoid	= ticks_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.init		= ticks_init,
	.owner		= THIS_MODULE,
	.name		= "ticks",
};

static int __init ticks_load(void)
{
	return tcp_register_congestion_control(&ticks_ops);
}

static void __exit ticks_unload(void)
{
	tcp_unregister_congestion_control(&ticks_ops);
}

module_init(ticks_load);
module_exit(ticks_unload);
MODULE_LICENSE("GPL");
