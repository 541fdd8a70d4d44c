// SPDX-License-Identifier: GPL-2.0
/* window.bpf.c as a module in the kernel's own words. */
#include <linux/module.h>
#include <linux/math64.h>
#include <net/tcp.h>

static unsigned int beta = 700;
module_param(beta, uint, 0644);

struct window {
	u64 acked;
	u32 begun;
	u32 end;
	u32 rounds;
};

/* One flow has one port. */
static u64 losses;

static u32 root(u64 x)
{
	u64 guess = max_t(u64, x >> 5, 1);
	int turn;

	for (turn = 0; turn < 12; turn++)
		guess = max_t(u64, (guess + div64_u64(x, guess)) >> 1, 1);
	return guess;
}

static void window_init(struct sock *sk)
{
	struct window *w = inet_csk_ca(sk);

	w->acked = 0;
	w->begun = tcp_jiffies32;
	w->end = tcp_sk(sk)->snd_nxt;
	w->rounds = 0;
}

static void window_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct window *w = inet_csk_ca(sk);
	u32 seconds = (tcp_jiffies32 - w->begun) / HZ;

	w->acked += acked;
	if (!before(ack, w->end)) {
		w->end = tp->snd_nxt;
		w->rounds++;
	}
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, max_t(u32, tp->snd_cwnd / (root(w->acked) / 8 + 1), 2) + min_t(u32, seconds, 4) + (w->rounds & 1), acked);
}

static u32 window_ssthresh(struct sock *sk)
{
	struct window *w = inet_csk_ca(sk);

	losses++;
	w->acked = 0;
	return max_t(u32, tcp_sk(sk)->snd_cwnd * (beta - min_t(u64, losses, 100)) >> 10, 2);
}

static struct tcp_congestion_ops window = {
	.init = window_init,
	.ssthresh = window_ssthresh,
	.cong_avoid = window_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "window",
};

static int __init window_register(void)
{
	return tcp_register_congestion_control(&window);
}

static void __exit window_unregister(void)
{
	tcp_unregister_congestion_control(&window);
}

module_init(window_register);
module_exit(window_unregister);
MODULE_LICENSE("GPL");
