// SPDX-License-Identifier: GPL-2.0
/*
 * cong_control() as Linux since 6.10 calls it: the window follows what was delivered in the last round, with a little chance.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char _license[] SEC("license") = "GPL";

struct rounds {
	__u32 end;
	__u32 delivered;
	__u32 target;
	__u32 draws;
};

enum { ROUNDS_FIRST = 64, ROUNDS_LEAST = 4 };

static __always_inline struct rounds *rounds_of(const struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

SEC("struct_ops")
void BPF_PROG(rounds_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct rounds *r = rounds_of(sk);

	__builtin_memset(r, 0, sizeof(*r));
	r->end = tp->snd_nxt;
	r->delivered = tp->delivered;
	r->target = ROUNDS_FIRST;
}

SEC("struct_ops")
void BPF_PROG(rounds_main, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct rounds *r = rounds_of(sk);

	if ((__s32)(ack - r->end) >= 0) {
		__u32 delivered = tp->delivered - r->delivered;

		r->draws = (r->draws ^ bpf_get_prandom_u32()) & 7;
		r->target = delivered + delivered / 4 + ROUNDS_LEAST + r->draws;
		if (rs->losses > 0)
			r->target -= r->target / 8;
		r->delivered = tp->delivered;
		r->end = tp->snd_nxt;
		bpf_printk("a round of %u segments", delivered);
	}
	tp->snd_cwnd = r->target < tp->snd_cwnd_clamp ? r->target : tp->snd_cwnd_clamp;
}

SEC("struct_ops")
__u32 BPF_PROG(rounds_ssthresh, struct sock *sk)
{
	return BPF_CORE_READ((struct tcp_sock *)sk, snd_ssthresh);
}

SEC("struct_ops")
__u32 BPF_PROG(rounds_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops rounds = {
	.init = (void *)rounds_init,
	.ssthresh = (void *)rounds_ssthresh,
	.cong_control = (void *)rounds_main,
	.undo_cwnd = (void *)rounds_undo_cwnd,
	.name = "bpf_rounds",
};
