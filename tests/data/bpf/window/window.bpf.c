// SPDX-License-Identifier: GPL-2.0
/*
 * A window alone: the square root of what was acknowledged since the last loss is added each round trip. It has words of the
 * kernel of its own (min, max, div64_u64, before), a parameter, and a table of the flows' losses by port.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

extern unsigned long CONFIG_HZ __kconfig;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

const volatile __u32 beta = 700;	/* of 1024 */
static __u32 flows;

struct window {
	__u64 acked;
	__u32 begun;
	__u32 end;
	__u32 rounds;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u16);
	__type(value, __u64);
} losses SEC(".maps");

static struct window *window_of(struct sock *sk)
{
	return (struct window *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static bool before(__u32 first, __u32 second)
{
	return (__s32)(first - second) < 0;
}

static __u64 div64_u64(__u64 dividend, __u64 divisor)
{
	return dividend / divisor;
}

static __u32 root(__u64 x)
{
	__u64 guess = max(x >> 5, 1ULL);
	int turn;

	for (turn = 0; turn < 12; turn++)
		guess = max((guess + div64_u64(x, guess)) >> 1, 1ULL);
	return guess;
}

SEC("struct_ops")
void BPF_PROG(window_init, struct sock *sk)
{
	struct window *w = window_of(sk);

	w->acked = 0;
	w->begun = bpf_jiffies64();
	w->end = ((struct tcp_sock *)sk)->snd_nxt;
	w->rounds = 0;
	flows++;
}

SEC("struct_ops")
void BPF_PROG(window_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct window *w = window_of(sk);
	__u32 seconds = ((__u32)bpf_jiffies64() - w->begun) / CONFIG_HZ;

	w->acked += acked;
	if (!before(ack, w->end)) {
		w->end = tp->snd_nxt;
		w->rounds++;
	}
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, max(tp->snd_cwnd / (root(w->acked) / 8 + 1), 2U) + min(seconds, 4U) + (w->rounds & 1), acked);
}

SEC("struct_ops")
__u32 BPF_PROG(window_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u16 port = BPF_CORE_READ(sk, __sk_common.skc_num);
	__u64 one = 1, *count;

	count = bpf_map_lookup_elem(&losses, &port);
	if (count)
		(*count)++;
	else
		bpf_map_update_elem(&losses, &port, &one, BPF_ANY);
	count = bpf_map_lookup_elem(&losses, &port);
	window_of(sk)->acked = 0;
	return max(tp->snd_cwnd * (beta - (count ? min(*count, 100ULL) : 0)) >> 10, 2U);
}

SEC("struct_ops")
__u32 BPF_PROG(window_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops bpf_window = {
	.init = (void *)window_init,
	.ssthresh = (void *)window_ssthresh,
	.cong_avoid = (void *)window_cong_avoid,
	.undo_cwnd = (void *)window_undo_cwnd,
	.name = "bpf_window",
};
