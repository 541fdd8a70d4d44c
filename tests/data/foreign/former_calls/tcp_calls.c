// SPDX-License-Identifier: GPL-2.0
/* Random numbers, timers and words that the kernel has no more. */
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/hrtimer.h>
#include <linux/random.h>
#include <linux/timer.h>

static struct {
	struct timer_list timer;
	struct hrtimer precise;
	u32 ticks;
} calls_clock;

static void calls_tick(struct timer_list *timer)
{
	typeof(calls_clock) *clock = from_timer(clock, timer, timer);

	ACCESS_ONCE(clock->ticks) = clock->ticks + 1;
	mod_timer(&clock->timer, jiffies + HZ / 10);
}

static enum hrtimer_restart calls_precise(struct hrtimer *timer)
{
	hrtimer_forward_now(timer, ms_to_ktime(50));
	return HRTIMER_RESTART;
}

static u32 calls_share(void)
{
	u32 uninitialized_var(share);
	char name[8];

	strlcpy(name, "share", sizeof(name));
	switch (prandom_u32() % 3) {
	case 0:
		share = 6;
		break;
	case 1:
		share = 7;
		fallthrough;
	default:
		share = 7 + prandom_u32_max(2);
	}
	return name[0] ? share : 1;
}

static u32 calls_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * calls_share() / 10, 2U);
}

static void calls_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops calls_ops = {
	.ssthresh	= calls_ssthresh,
	.cong_avoid	= calls_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "calls",
};

static int __init calls_load(void)
{
	timer_setup(&calls_clock.timer, calls_tick, 0);
	mod_timer(&calls_clock.timer, jiffies + 1);
	hrtimer_init(&calls_clock.precise, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	calls_clock.precise.function = calls_precise;
	hrtimer_start(&calls_clock.precise, ms_to_ktime(50), HRTIMER_MODE_REL);
	return tcp_register_congestion_control(&calls_ops);
}

static void __exit calls_unload(void)
{
	tcp_unregister_congestion_control(&calls_ops);
	hrtimer_cancel(&calls_clock.precise);
	del_timer(&calls_clock.timer);
	del_timer_sync(&calls_clock.timer);
}

module_init(calls_load);
module_exit(calls_unload);
MODULE_LICENSE("GPL");
