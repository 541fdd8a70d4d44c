/* SPDX-License-Identifier: GPL-2.0 */
/* The two ends of a TCP connection inside one kernel. */
#ifndef TCP_ENDS_H
#define TCP_ENDS_H

#include <linux/inet.h>
#include <net/tcp.h>

/* A connection inside its own host crosses no path. */
static inline bool leaves_host(const struct sock *sk)
{
	return sk->sk_daddr && !ipv4_is_loopback(sk->sk_daddr) && sk->sk_daddr != sk->sk_rcv_saddr;
}

static inline bool are_peers(const struct sock *one, const struct sock *other)
{
	return one->sk_daddr == other->sk_rcv_saddr && one->sk_rcv_saddr == other->sk_daddr &&
	       one->sk_dport == htons(other->sk_num) && other->sk_dport == htons(one->sk_num);
}

static inline u64 sent_bytes(const struct sock *sk)
{
	return tcp_sk(sk)->bytes_sent - tcp_sk(sk)->bytes_retrans;
}

/* The kernel counts a FIN as a byte. */
static inline u64 received_bytes(const struct sock *sk)
{
	return tcp_sk(sk)->bytes_received - !!sock_flag(sk, SOCK_DONE);
}

#endif
