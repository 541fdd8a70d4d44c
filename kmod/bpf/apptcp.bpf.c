// SPDX-License-Identifier: GPL-2.0
/*
 * AppTCP as a BPF program (struct_ops), for hosts where no module may be built or loaded. It registers "bpf_apptcp".
 *
 * The law is that of tcp_apptcp.c, from the same file: kernel_words.h gives that file the kernel's words in BPF. Two things
 * differ: `ss` shows no state of it, since a BPF program has no get_info(), and its parameters are constants of the object.
 *
 *	make -C kmod/bpf			for the running kernel; BTF=FILE for another
 *	bpftool struct_ops register apptcp.bpf.o
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_words.h"
#include "../tcp_apptcp.c"

/* The same, where Longhaul looks for the parameters of this object. */
LH_SOCKET_PARAM(rate, SO_MAX_PACING_RATE, kbit_s, 1, 400000000, "payload rate that this socket requires");

char _license[] SEC("license") = "GPL";

SEC("struct_ops")
void BPF_PROG(bpf_apptcp_init, struct sock *sk)
{
	apptcp_init(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(bpf_apptcp_ssthresh, struct sock *sk)
{
	return apptcp_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(bpf_apptcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	apptcp_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
void BPF_PROG(bpf_apptcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	apptcp_pkts_acked(sk, sample);
}

SEC("struct_ops")
void BPF_PROG(bpf_apptcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	apptcp_cwnd_event(sk, event);
}

SEC("struct_ops")
__u32 BPF_PROG(bpf_apptcp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops bpf_apptcp = {
	.init = (void *)bpf_apptcp_init,
	.ssthresh = (void *)bpf_apptcp_ssthresh,
	.cong_avoid = (void *)bpf_apptcp_cong_avoid,
	.pkts_acked = (void *)bpf_apptcp_pkts_acked,
	.cwnd_event = (void *)bpf_apptcp_cwnd_event,
	.undo_cwnd = (void *)bpf_apptcp_undo_cwnd,
	.name = "bpf_apptcp",
};
