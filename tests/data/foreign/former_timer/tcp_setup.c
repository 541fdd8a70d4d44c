// SPDX-License-Identifier: GPL-2.0
/* It sets up a timer as until Linux 4.14. */
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/timer.h>

static struct timer_list setup_timer_list;

static void setup_tick(unsigned long data)
{
}

static u32 setup_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void setup_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops setup_ops = {
	.ssthresh	= setup_ssthresh,
	.cong_avoid	= setup_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "setup",
};

static int __init setup_load(void)
{
	setup_timer(&setup_timer_list, setup_tick, 0);
	return tcp_register_congestion_control(&setup_ops);
}

static void __exit setup_unload(void)
{
	tcp_unregister_congestion_control(&setup_ops);
	del_timer_sync(&setup_timer_list);
}

module_init(setup_load);
module_exit(setup_unload);
MODULE_LICENSE("GPL");
