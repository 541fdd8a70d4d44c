/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What BPF programs do with sockets beyond reading and writing their fields: their options, another congestion control, an ACK
 * at once, and the kinds of socket.
 */
#ifndef LH_BPF_SOCKET_H
#define LH_BPF_SOCKET_H

/* So the compiler names the place in the program where an error is inside a word of this file. */
#pragma GCC system_header

#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>

/* The kernel's list of congestion controls. A new control is its last, so that the head follows it. */
static struct list_head *lh_bpf_controls __maybe_unused;

static noinline __maybe_unused struct tcp_congestion_ops *lh_bpf_find_control(const char *name)
{
	struct tcp_congestion_ops *ops;

	if (lh_bpf_controls)
		list_for_each_entry_rcu(ops, lh_bpf_controls, list)
			if (!strncmp(ops->name, name, TCP_CA_NAME_MAX))
				return ops;
	return NULL;
}

/* As tcp_set_congestion_control() does it for a BPF program, which may take any control and loads no module. */
static noinline __maybe_unused long lh_bpf_set_control(struct sock *sk, const char *name)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_congestion_ops *ops;
	long err = 0;

	if (icsk->icsk_ca_dst_locked)
		return -EPERM;
	rcu_read_lock();
	ops = lh_bpf_find_control(name);
	if (!ops) {
		err = -ENOENT;
	} else if (ops == icsk->icsk_ca_ops) {
		icsk->icsk_ca_setsockopt = 1;
	} else if (!try_module_get(ops->owner)) {
		err = -EBUSY;
	} else {
		if (icsk->icsk_ca_ops->release)
			icsk->icsk_ca_ops->release(sk);
		module_put(icsk->icsk_ca_ops->owner);
		icsk->icsk_ca_ops = ops;
		icsk->icsk_ca_setsockopt = 1;
		memset(icsk->icsk_ca_priv, 0, sizeof(icsk->icsk_ca_priv));
		if (!((1 << sk->sk_state) & (TCPF_CLOSE | TCPF_LISTEN))) {
			tcp_sk(sk)->prior_ssthresh = 0;
			if (ops->init)
				ops->init(sk);
			if (tcp_ca_needs_ecn(sk))
				INET_ECN_xmit(sk);
			else
				INET_ECN_dontxmit(sk);
		}
	}
	rcu_read_unlock();
	return err;
}

static noinline __maybe_unused long lh_bpf_set_option(struct sock *sk, int level, int option, const void *value, int length)
{
	int number = length >= (int)sizeof(int) ? *(const int *)value : 0;

	if (level == SOL_TCP && option == TCP_CONGESTION) {
		char name[TCP_CA_NAME_MAX] = "";

		memcpy(name, value, min_t(int, length, sizeof(name) - 1));
		return lh_bpf_set_control(sk, name);
	}
	if (length < (int)sizeof(int))
		return -EINVAL;
	/* It would send at once, which may call the control again: the kernel refuses it to controls too. */
	if (level == SOL_TCP && option == TCP_NODELAY)
		return -EOPNOTSUPP;
	if (level == SOL_TCP && option == TCP_BPF_IW) {
		if (number <= 0 || tcp_sk(sk)->bytes_acked || tcp_sk(sk)->data_segs_out)
			return -EINVAL;
		tcp_snd_cwnd_set(tcp_sk(sk), number);
	} else if (level == SOL_TCP && option == TCP_BPF_SNDCWND_CLAMP) {
		if (number <= 0)
			return -EINVAL;
		tcp_sk(sk)->snd_cwnd_clamp = number;
		tcp_sk(sk)->snd_ssthresh = number;
	} else if (level == SOL_SOCKET && option == SO_MAX_PACING_RATE) {
		if (number != ~0)
			cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
		sk->sk_max_pacing_rate = number == ~0 ? ~0UL : (u32)number;
		if (sk->sk_pacing_rate > sk->sk_max_pacing_rate)
			sk->sk_pacing_rate = sk->sk_max_pacing_rate;
	} else if (level == SOL_SOCKET && option == SO_PRIORITY) {
		sk->sk_priority = number;
	} else {
		return -EINVAL;
	}
	return 0;
}

static noinline __maybe_unused long lh_bpf_get_option(struct sock *sk, int level, int option, void *value, int length)
{
	int number;

	if (level == SOL_TCP && option == TCP_CONGESTION) {
		if (length <= 1)
			return -EINVAL;
		strscpy(value, inet_csk(sk)->icsk_ca_ops->name, min_t(int, length, TCP_CA_NAME_MAX));
		return 0;
	}
	if (length < (int)sizeof(int))
		return -EINVAL;
	if (level == SOL_TCP && option == TCP_BPF_SNDCWND_CLAMP)
		number = tcp_sk(sk)->snd_cwnd_clamp;
	else if (level == SOL_TCP && option == TCP_MAXSEG)
		number = tcp_sk(sk)->mss_cache;
	else if (level == SOL_SOCKET && option == SO_MAX_PACING_RATE)
		number = sk->sk_max_pacing_rate > ~0U ? ~0U : sk->sk_max_pacing_rate;
	else if (level == SOL_SOCKET && option == SO_PRIORITY)
		number = sk->sk_priority;
	else if (level == SOL_SOCKET && option == SO_MARK)
		number = sk->sk_mark;
	else if (level == SOL_SOCKET && option == SO_SNDBUF)
		number = sk->sk_sndbuf;
	else if (level == SOL_SOCKET && option == SO_RCVBUF)
		number = sk->sk_rcvbuf;
	else
		return -EINVAL;
	*(int *)value = number;
	return 0;
}

extern long lh_bpf_no_option(void)
	__attribute__((error("it sets or reads a socket option that a native build of a BPF program does not have: TCP_CONGESTION, TCP_MAXSEG, TCP_BPF_IW, TCP_BPF_SNDCWND_CLAMP, SO_MAX_PACING_RATE, SO_PRIORITY, SO_MARK, SO_SNDBUF and SO_RCVBUF are there")));

#define LH_BPF_IS(level, option, wanted_level, wanted) ((level) == (wanted_level) && (option) == (wanted))
#define LH_BPF_SETS(level, option) \
	(LH_BPF_IS(level, option, SOL_TCP, TCP_CONGESTION) || LH_BPF_IS(level, option, SOL_TCP, TCP_BPF_IW) || \
	 LH_BPF_IS(level, option, SOL_TCP, TCP_BPF_SNDCWND_CLAMP) || LH_BPF_IS(level, option, SOL_TCP, TCP_NODELAY) || \
	 LH_BPF_IS(level, option, SOL_SOCKET, SO_MAX_PACING_RATE) || LH_BPF_IS(level, option, SOL_SOCKET, SO_PRIORITY))
#define LH_BPF_READS(level, option) \
	(LH_BPF_IS(level, option, SOL_TCP, TCP_CONGESTION) || LH_BPF_IS(level, option, SOL_TCP, TCP_MAXSEG) || \
	 LH_BPF_IS(level, option, SOL_TCP, TCP_BPF_SNDCWND_CLAMP) || LH_BPF_IS(level, option, SOL_SOCKET, SO_MARK) || \
	 LH_BPF_IS(level, option, SOL_SOCKET, SO_MAX_PACING_RATE) || LH_BPF_IS(level, option, SOL_SOCKET, SO_PRIORITY) || \
	 LH_BPF_IS(level, option, SOL_SOCKET, SO_SNDBUF) || LH_BPF_IS(level, option, SOL_SOCKET, SO_RCVBUF))
#define LH_BPF_KNOWN(sets, level, option) \
	do { \
		if (__builtin_constant_p(level) && __builtin_constant_p(option) && !sets(level, option)) \
			lh_bpf_no_option(); \
	} while (0)

#define bpf_setsockopt(sk, level, option, value, length) \
	({ LH_BPF_KNOWN(LH_BPF_SETS, level, option); \
	   lh_bpf_set_option((struct sock *)(sk), level, option, value, length); })
#define bpf_getsockopt(sk, level, option, value, length) \
	({ LH_BPF_KNOWN(LH_BPF_READS, level, option); \
	   lh_bpf_get_option((struct sock *)(sk), level, option, value, length); })

#ifdef LH_SEND_ACK_HAS_FLAGS
#define bpf_tcp_send_ack(tp, rcv_nxt) (__tcp_send_ack((struct sock *)(tp), rcv_nxt, 0), 0)
#else
#define bpf_tcp_send_ack(tp, rcv_nxt) (__tcp_send_ack((struct sock *)(tp), rcv_nxt), 0)
#endif

/* What a program reads of a struct bpf_tcp_sock is the socket's as it was at this call. */
static noinline __maybe_unused struct bpf_tcp_sock *lh_bpf_tcp_sock(const struct sock *sk)
{
	static struct bpf_tcp_sock seen;
	const struct tcp_sock *tp = tcp_sk(sk);

	seen = (struct bpf_tcp_sock) {
		.snd_cwnd = tcp_snd_cwnd(tp),
		.srtt_us = tp->srtt_us,
		.rtt_min = tcp_min_rtt(tp),
		.snd_ssthresh = tp->snd_ssthresh,
		.rcv_nxt = tp->rcv_nxt,
		.snd_nxt = tp->snd_nxt,
		.snd_una = tp->snd_una,
		.mss_cache = tp->mss_cache,
		.ecn_flags = tp->ecn_flags,
		.rate_delivered = tp->rate_delivered,
		.rate_interval_us = tp->rate_interval_us,
		.packets_out = tp->packets_out,
		.retrans_out = tp->retrans_out,
		.total_retrans = tp->total_retrans,
		.segs_in = tp->segs_in,
		.data_segs_in = tp->data_segs_in,
		.segs_out = tp->segs_out,
		.data_segs_out = tp->data_segs_out,
		.lost_out = tp->lost_out,
		.sacked_out = tp->sacked_out,
		.bytes_received = tp->bytes_received,
		.bytes_acked = tp->bytes_acked,
		.dsack_dups = tp->dsack_dups,
		.delivered = tp->delivered,
		.delivered_ce = tp->delivered_ce,
		.icsk_retransmits = inet_csk(sk)->icsk_retransmits,
	};
	return &seen;
}

#define bpf_tcp_sock(sk) lh_bpf_tcp_sock((const struct sock *)(sk))

/* Kinds of socket: a congestion control has those of TCP alone. */
#define bpf_skc_to_tcp_sock(sk) ((struct tcp_sock *)(sk))
#define bpf_sk_release(sk) ((void)(sk), 0)

#endif
