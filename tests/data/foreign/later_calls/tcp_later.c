// SPDX-License-Identifier: GPL-2.0
/* Functions that came with Linux 6. */
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/random.h>
#include <linux/timer.h>

static struct timer_list later_timer;

static void later_tick(struct timer_list *timer)
{
}

static u32 later_share(const struct tcp_sock *tp)
{
	u32 total = tcp_clock_ms() > 0 && tcp_time_stamp_ms(tp) ? 6 : 5;

	for (int part = 0; part < 2; part++)
		total += get_random_u32_below(2);
	return total;
}

static u32 later_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp) * later_share(tp) / 10, 2U);
}

static void later_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops later_ops = {
	.ssthresh	= later_ssthresh,
	.cong_avoid	= later_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "later",
};

static int __init later_load(void)
{
	timer_setup(&later_timer, later_tick, 0);
	return tcp_register_congestion_control(&later_ops);
}

static void __exit later_unload(void)
{
	tcp_unregister_congestion_control(&later_ops);
	timer_delete(&later_timer);
	timer_delete_sync(&later_timer);
}

module_init(later_load);
module_exit(later_unload);
MODULE_LICENSE("GPL");
