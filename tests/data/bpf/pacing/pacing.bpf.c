// SPDX-License-Identifier: GPL-2.0
/*
 * Pacing at 15/16 of the most that was delivered, kept in the storage of the socket, by the headers of the kernel's self-tests. Two
 * controls in one file: the second begins as the first and then chooses Reno by a socket option, as a program falls back.
 */
#include "bpf_tracing_net.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

#define USEC_PER_SEC 1000000ULL

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

struct seen {
	__u64 most;
	__u64 samples[4];
	__u32 next;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct seen);
} storage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} shares SEC(".maps");

static char fallback[16] = "reno";

static long most_of(__u32 place, void *context)
{
	struct seen *seen = context;

	if (place < 4 && seen->samples[place] > seen->most)
		seen->most = seen->samples[place];
	return 0;
}

SEC("struct_ops")
void BPF_PROG(pacing_init, struct sock *sk)
{
	__u32 first = 0, share = 15;

	bpf_map_update_elem(&shares, &first, &share, BPF_ANY);
	bpf_sk_storage_get(&storage, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(pacing_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct seen *seen = bpf_sk_storage_get(&storage, sk, 0, 0);
	__u32 first = 0, *share = bpf_map_lookup_elem(&shares, &first);
	__u64 rate;

	if (!seen || !share || sample->rtt_us <= 0)
		return;
	rate = (__u64)sample->in_flight * tp->mss_cache * USEC_PER_SEC / (__u32)sample->rtt_us;
	seen->samples[seen->next++ & 3] = rate;
	seen->most = 0;
	bpf_loop(4, most_of, seen, 0);
	if (seen->next > 16)
		sk->sk_pacing_rate = (seen->most * *share >> 4) + 100000;
}

SEC("struct_ops")
__u32 BPF_PROG(pacing_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(pacing_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(pacing_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void BPF_PROG(fallback_init, struct sock *sk)
{
	bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, fallback, sizeof(fallback));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops pacing = {
	.init = (void *)pacing_init,
	.ssthresh = (void *)pacing_ssthresh,
	.cong_avoid = (void *)pacing_cong_avoid,
	.pkts_acked = (void *)pacing_pkts_acked,
	.undo_cwnd = (void *)pacing_undo_cwnd,
	.name = "bpf_pacing",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops falls_back = {
	.init = (void *)fallback_init,
	.ssthresh = (void *)pacing_ssthresh,
	.cong_avoid = (void *)pacing_cong_avoid,
	.undo_cwnd = (void *)pacing_undo_cwnd,
	.name = "bpf_fallback",
};
