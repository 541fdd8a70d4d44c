/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words of the kernel's headers that tcp_apptcp.c uses, for clang -target bpf: vmlinux.h has the kernel's types alone. Each
 * means the same as the kernel's.
 */
#ifndef LH_KERNEL_WORDS_H
#define LH_KERNEL_WORDS_H

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;

extern unsigned long CONFIG_HZ __kconfig;

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;

#define HZ CONFIG_HZ
#define USEC_PER_SEC 1000000L
#define U8_MAX ((u8)~0U)
#define U32_MAX ((u32)~0U)
#define ICSK_CA_PRIV_SIZE sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv)
#define TCP_INFINITE_SSTHRESH 0x7fffffff

#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "false: " #condition)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define clamp_t(type, value, low, high) ((type)min(max((type)(value), (type)(low)), (type)(high)))
#define memset(to, byte, size) __builtin_memset(to, byte, size)
#define div64_u64(dividend, divisor) ((dividend) / (divisor))
#define before(first, second) ((__s32)((first) - (second)) < 0)
#define tcp_jiffies32 ((u32)bpf_jiffies64())

/* A program has the socket's lock, as whatever else changes its pacing has. The verifier allows a store, and no exchange. */
#define cmpxchg(place, former, value) (*(place) = (value))

#define tcp_sk(sk) ((struct tcp_sock *)(sk))
#define inet_csk_ca(sk) ((void *)((struct inet_connection_sock *)(sk))->icsk_ca_priv)
#define tcp_snd_cwnd(tp) ((tp)->snd_cwnd)
#define tcp_snd_cwnd_set(tp, value) ((tp)->snd_cwnd = (value))
#define tcp_in_slow_start(tp) ((tp)->snd_cwnd < (tp)->snd_ssthresh)
#define tcp_min_rtt(tp) ((tp)->rtt_min.s[0].v)

static inline bool lh_is_cwnd_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tcp_in_slow_start(tp) && tcp_snd_cwnd(tp) < 2 * tp->max_packets_out;
}

#define tcp_is_cwnd_limited(sk) lh_is_cwnd_limited(tcp_sk(sk))

/* lh_param.h and lh_info.h. */
#define LH_PARAM_H
#define LH_PARAM(name, unit, initial, least, most, about) const volatile unsigned int name = (initial)
#define LH_SOCKET_PARAM(name, option, unit, least, most, about) _Static_assert((least) <= (most), "")
#define LH_INFO_H
#define lh_tell(...) 0

/* What makes a module of it. */
#define __init
#define __exit
#define __read_mostly
#define THIS_MODULE 0
#define tcp_register_congestion_control(ops) ((void)(ops), 0)
#define tcp_unregister_congestion_control(ops) ((void)(ops))
#define module_init(function) _Static_assert(1, "")
#define module_exit(function) _Static_assert(1, "")
#define MODULE_DESCRIPTION(text) _Static_assert(1, "")
#define MODULE_LICENSE(text) _Static_assert(1, "")

#endif
