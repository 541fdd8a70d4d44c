/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets sources of other authors, written for Linux 4.0 to 7.3, compile unedited for any kernel of that range that has a
 * guest. build-user-modules.sh includes this file in front of each of them, and features.h, which probe-features.sh makes
 * from features.c. Each part replaces an interface by another with the same meaning. Where the meaning has changed, there
 * is none here: orchestrator/modules/adapters.py refuses such a source, or the compiler does.
 */
#ifndef LH_FOREIGN_H
#define LH_FOREIGN_H

#include "features.h"
#include "compat.h"

#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/hrtimer.h>
#include <linux/inet_diag.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/win_minmax.h>
#include <net/sock.h>
#include <net/tcp.h>

/*
 * Registration. Linux before 4.15 undid a reduction by itself where a control had no function for it. Since 7.1 a kernel
 * calls another function when a flow sends again after a pause.
 */
static u32 __maybe_unused lh_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp), tp->snd_ssthresh << 1);
}

#ifdef LH_HAVE_TX_START
static void __maybe_unused lh_tx_start(struct sock *sk)
{
	inet_csk(sk)->icsk_ca_ops->cwnd_event(sk, CA_EVENT_TX_START);
}
#endif

static __always_inline int lh_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!ops->undo_cwnd)
		ops->undo_cwnd = lh_undo_cwnd;
#ifdef LH_HAVE_TX_START
	if (ops->cwnd_event && !ops->cwnd_event_tx_start)
		ops->cwnd_event_tx_start = lh_tx_start;
#endif
	return tcp_register_congestion_control(ops);
}

#define tcp_register_congestion_control(ops) lh_register_congestion_control((struct tcp_congestion_ops *)(ops))

/*
 * Hooks with other parameters. The source's function NAME becomes lh_own_NAME, by a macro with parameters, which leaves
 * the name without parentheses in its struct tcp_congestion_ops: there it is the adapter. STORAGE is static, or extern
 * where another file has the function. LH_ADAPTS_... is whether this kernel needs the adapter.
 */
#ifdef LH_CONG_CONTROL_HAS_ACK
#define LH_ADAPTS_CONG_CONTROL_2 1
#define LH_ADAPTS_CONG_CONTROL_4 0
#define LH_ADAPT_CONG_CONTROL_2(name, storage) \
	storage void lh_own_##name(struct sock *sk, const struct rate_sample *rs); \
	static void name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) \
	{ \
		lh_own_##name(sk, rs); \
	}
#define LH_ADAPT_CONG_CONTROL_4(name, storage)
#else
/*
 * Before 6.10 a control received neither the acknowledged sequence number, which is snd_una by then, nor the ACK's flags,
 * of which a control outside the kernel knows no names.
 */
#define LH_ADAPTS_CONG_CONTROL_2 0
#define LH_ADAPTS_CONG_CONTROL_4 1
#define LH_ADAPT_CONG_CONTROL_2(name, storage)
#define LH_ADAPT_CONG_CONTROL_4(name, storage) \
	storage void lh_own_##name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs); \
	static void name(struct sock *sk, const struct rate_sample *rs) \
	{ \
		lh_own_##name(sk, tcp_sk(sk)->snd_una, 0, rs); \
	}
#endif

/* Until 4.6 the values came one by one. */
#define LH_ADAPTS_PKTS_ACKED_3 1
#define LH_ADAPT_PKTS_ACKED_3(name, storage) \
	storage void lh_own_##name(struct sock *sk, u32 count, s32 rtt_us); \
	static void name(struct sock *sk, const struct ack_sample *sample) \
	{ \
		lh_own_##name(sk, sample->pkts_acked, sample->rtt_us); \
	}

/*
 * Since 7.1 the first packet after a pause has a hook of its own; before, it was one of the events. The source's hooks
 * both become one that calls the right function of the two, so that the last in its structure, which counts, is right.
 */
#ifdef LH_HAVE_TX_START
#define LH_ADAPTS_TX_START 0
#define LH_ADAPT_TX_START(name, storage)
#define LH_ADAPT_TX_START_AND_EVENTS(name, storage, events, events_storage)
#else
#define LH_ADAPTS_TX_START 1
#define LH_ADAPT_TX_START(name, storage) \
	storage void lh_own_##name(struct sock *sk); \
	static void name(struct sock *sk, enum tcp_ca_event event) \
	{ \
		if (event == CA_EVENT_TX_START) \
			lh_own_##name(sk); \
	}
#define LH_ADAPT_TX_START_AND_EVENTS(name, storage, events, events_storage) \
	storage void lh_own_##name(struct sock *sk); \
	events_storage void lh_own_##events(struct sock *sk, enum tcp_ca_event event); \
	static void events(struct sock *sk, enum tcp_ca_event event) \
	{ \
		if (event == CA_EVENT_TX_START) \
			lh_own_##name(sk); \
		else \
			lh_own_##events(sk, event); \
	} \
	static void name(struct sock *sk, enum tcp_ca_event event) \
	{ \
		events(sk, event); \
	}
#endif

/* The packets of a burst as the kernel chooses them. Modules could call it until 4.15. */
static u32 __maybe_unused lh_tso_autosize(const struct sock *sk, unsigned int mss_now, int least)
{
	unsigned long bytes = min_t(unsigned long, READ_ONCE(sk->sk_pacing_rate) >> READ_ONCE(sk->sk_pacing_shift),
				    sk->sk_gso_max_size - 1 - MAX_TCP_HEADER);

	return max_t(u32, bytes / mss_now, least);
}

/*
 * Other kernels let a control give the packets of a burst; these let it give the least, and cut it to sk_gso_max_segs
 * after they have asked. So the adapter sets both. With 0 the kernel chooses.
 */
static u32 __maybe_unused lh_burst(struct sock *sk, u32 segments)
{
	const struct dst_entry *dst = __sk_dst_get(sk);
	u32 most = dst ? READ_ONCE(dst->dev->gso_max_segs) : sk->sk_gso_max_segs;

	sk->sk_gso_max_segs = segments ? min(segments, most) : most;
	return segments ?: READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_min_tso_segs);
}

#ifdef LH_HAVE_TSO_SEGS_GOAL
#define LH_ADAPTS_TSO_SEGS_GOAL_1 0
#define LH_ADAPT_TSO_SEGS_GOAL_1(name, storage)
#else
#define LH_ADAPTS_TSO_SEGS_GOAL_1 1
#define LH_ADAPT_TSO_SEGS_GOAL_1(name, storage) \
	storage u32 lh_own_##name(struct sock *sk); \
	static u32 name(struct sock *sk) \
	{ \
		return lh_burst(sk, lh_own_##name(sk)); \
	}
#endif

#ifdef LH_HAVE_TSO_SEGS
#define LH_ADAPTS_TSO_SEGS_2 0
#define LH_ADAPT_TSO_SEGS_2(name, storage)
#else
#define LH_ADAPTS_TSO_SEGS_2 1
#define LH_ADAPT_TSO_SEGS_2(name, storage) \
	storage u32 lh_own_##name(struct sock *sk, unsigned int mss_now); \
	static u32 name(struct sock *sk) \
	{ \
		return lh_burst(sk, max(lh_own_##name(sk, tcp_sk(sk)->mss_cache), 1U)); \
	}
#endif

/* Functions of TCP whose parameters became fewer or more. */
#define tcp_is_cwnd_limited(sk, ...) tcp_is_cwnd_limited(sk)
#define LH_THIRD(first, second, third, ...) third
#define tcp_cong_avoid_ai(tp, w, ...) (tcp_cong_avoid_ai)(tp, w, LH_THIRD(0, ##__VA_ARGS__, __VA_ARGS__, 1))

/* An ACK has flags besides the usual ones since 6.12, of which an earlier kernel can only send none. */
#ifdef LH_SEND_ACK_HAS_FLAGS
#define __tcp_send_ack(sk, next, ...) (__tcp_send_ack)(sk, next, LH_THIRD(0, ##__VA_ARGS__, __VA_ARGS__, 0))
#else
#define __tcp_send_ack(sk, next, ...) \
	({ \
		BUILD_BUG_ON(LH_THIRD(0, ##__VA_ARGS__, __VA_ARGS__, 0) != 0); \
		(__tcp_send_ack)(sk, next); \
	})
#endif

/* Whether a connection uses ECN: since 6.18 in one of two ways. */
#ifndef TCP_ECN_OK
#define TCP_ECN_OK TCP_ECN_MODE_ANY
#endif
#ifndef LH_HAVE_ECN_MODES
#define tcp_ecn_mode_any(tp) (!!((tp)->ecn_flags & TCP_ECN_OK))
#endif
#ifndef GSO_LEGACY_MAX_SIZE
#define GSO_LEGACY_MAX_SIZE GSO_MAX_SIZE
#endif

/* Until 3.14 a control had to ask for round trips in microseconds. */
#ifndef TCP_CONG_RTT_STAMP
#define TCP_CONG_RTT_STAMP 0
#endif

/* Time. */
#if defined(LH_HAVE_TIME_STAMP) && !defined(LH_HAVE_TIME_STAMP_MS)
#define tcp_time_stamp_ms(tp) tcp_time_stamp(tp)
#define tcp_time_stamp_ts(tp) tcp_time_stamp(tp)
#endif
#if !defined(LH_HAVE_TIME_STAMP) && defined(LH_HAVE_TIME_STAMP_MS)
#define tcp_time_stamp(tp) tcp_time_stamp_ms(tp)
#endif
#ifndef LH_HAVE_CLOCK_MS
#define tcp_clock_ms() div_u64(tcp_clock_ns(), NSEC_PER_MSEC)
#endif

/* Until 4.12 a time in microseconds was a structure; build-user-modules.sh writes u64 for its name. */
#define skb_mstamp_get(stamp) ((void)(*(stamp) = tcp_clock_us()))
#define skb_mstamp_after(later, former) (*(later) > *(former))
#define skb_mstamp_us_delta(later, former) ((u32)max_t(s64, *(later) - *(former), 0))

/*
 * Random numbers. In a guest they come from the key of the host that draws, as those of the kernel's own controls, so that
 * they are the same whichever hosts share the guest. The host is that of the socket which the code calls sk; where it has no
 * socket of this name, this variable is meant, and the number comes from the pool of all.
 */
#ifdef LH_HAVE_NET_DRAWS
static const struct lh_no_socket *const sk __maybe_unused;

static u32 __maybe_unused lh_draw(const struct sock *drawing)
{
	return drawing ? net_random_u32(sock_net(drawing)) : get_random_u32();
}

static void __maybe_unused lh_draw_bytes(const struct sock *drawing, void *to, size_t bytes)
{
	if (drawing)
		net_random_bytes(sock_net(drawing), to, bytes);
	else
		get_random_bytes(to, bytes);
}

#define LH_DRAWING _Generic((sk), struct sock *: (sk), const struct sock *: (sk), default: NULL)
#define LH_DRAW_BELOW(ceiling) ((u32)(((u64)lh_draw(LH_DRAWING) * (u32)(ceiling)) >> 32))
#define get_random_u8() ((u8)lh_draw(LH_DRAWING))
#define get_random_u16() ((u16)lh_draw(LH_DRAWING))
#define get_random_u32() lh_draw(LH_DRAWING)
#define get_random_int() lh_draw(LH_DRAWING)
#define prandom_u32() lh_draw(LH_DRAWING)
#define get_random_u32_below(ceiling) LH_DRAW_BELOW(ceiling)
#define prandom_u32_max(ceiling) LH_DRAW_BELOW(ceiling)
#define get_random_bytes(to, bytes) lh_draw_bytes(LH_DRAWING, to, bytes)
#define prandom_bytes(to, bytes) lh_draw_bytes(LH_DRAWING, to, bytes)
#else
#ifndef LH_HAVE_PRANDOM_U32
#define prandom_u32() get_random_u32()
#endif
#ifndef LH_HAVE_RANDOM_BELOW
#define get_random_u32_below(ceiling) prandom_u32_max(ceiling)
#endif
#ifndef LH_HAVE_PRANDOM_U32_MAX
#define prandom_u32_max(ceiling) get_random_u32_below(ceiling)
#endif
#endif

/* Timers. */
#ifndef LH_HAVE_DEL_TIMER
#define del_timer(timer) timer_delete(timer)
#define del_timer_sync(timer) timer_delete_sync(timer)
#endif
#ifndef LH_HAVE_TIMER_DELETE
#define timer_delete(timer) del_timer(timer)
#define timer_delete_sync(timer) del_timer_sync(timer)
#endif
#ifndef from_timer
#define from_timer(variable, timer, field) container_of(timer, typeof(*(variable)), field)
#endif
#ifndef timer_container_of
#define timer_container_of(variable, timer, field) container_of(timer, typeof(*(variable)), field)
#endif
#ifndef LH_HAVE_HRTIMER_INIT
static enum hrtimer_restart __maybe_unused lh_no_function(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

#define hrtimer_init(timer, clock, mode) hrtimer_setup(timer, lh_no_function, clock, mode)
#endif

/* Knobs in /proc. Since 5.6 the files there have functions of their own. */
static inline struct proc_dir_entry *lh_proc_create_files(const char *name, umode_t mode, struct proc_dir_entry *parent,
							  const struct file_operations *from, void *data)
{
	/* It lives as long as the file, and so as the module. */
	struct proc_ops *ops = kzalloc(sizeof(*ops), GFP_KERNEL);

	if (!ops)
		return NULL;
	ops->proc_open = from->open;
	ops->proc_read = from->read;
	ops->proc_write = from->write;
	ops->proc_lseek = from->llseek ?: default_llseek;
	ops->proc_release = from->release;
	ops->proc_poll = from->poll;
	ops->proc_ioctl = from->unlocked_ioctl;
	ops->proc_mmap = from->mmap;
	return proc_create_data(name, mode, parent, ops, data);
}

static inline struct proc_dir_entry *lh_proc_create(const char *name, umode_t mode, struct proc_dir_entry *parent,
						    const struct proc_ops *ops, void *data)
{
	return proc_create_data(name, mode, parent, ops, data);
}

#define proc_create_data(name, mode, parent, ops, data) \
	_Generic((ops), \
		 const struct file_operations *: lh_proc_create_files, \
		 struct file_operations *: lh_proc_create_files, \
		 default: lh_proc_create)(name, mode, parent, (void *)(ops), data)
#define proc_create(name, mode, parent, ops) proc_create_data(name, mode, parent, ops, NULL)

/* Since 6.11 a table of sysctls has a length instead of an empty row at its end. */
#ifdef LH_HAVE_SYSCTL_SIZES
static inline size_t lh_sysctl_rows(const struct ctl_table *table, size_t most)
{
	size_t rows = 0;

	while (rows < most && table[rows].procname)
		rows++;
	return rows;
}

/* The rows that the type says; where it is a pointer, those before the empty one. */
#define LH_ROWS(table) \
	lh_sysctl_rows(table, __builtin_types_compatible_p(typeof(table), typeof(&(table)[0])) ? \
			      SIZE_MAX : sizeof(table) / sizeof((table)[0]))
#undef register_net_sysctl
#define register_net_sysctl(net, path, table) register_net_sysctl_sz(net, path, table, LH_ROWS(table))
#undef register_sysctl
#define register_sysctl(path, table) register_sysctl_sz(path, table, LH_ROWS(table))
#endif

/* Functions that BPF programs may call: the guests have no BPF. */
#ifndef __bpf_kfunc
#define __bpf_kfunc
#endif
#ifndef __bpf_kfunc_start_defs
#define __bpf_kfunc_start_defs()
#define __bpf_kfunc_end_defs()
#endif
#ifndef BTF_ID_FLAGS
#define BTF_ID_FLAGS(prefix, name, ...)
#endif
#ifndef BTF_SET8_START
#define BTF_SET8_START(name) static struct btf_id_set __maybe_unused name = { 0 };
#define BTF_SET8_END(name)
#endif
#ifndef BTF_KFUNCS_START
#define BTF_KFUNCS_START(name) BTF_SET8_START(name)
#define BTF_KFUNCS_END(name) BTF_SET8_END(name)
#endif
#ifndef LH_HAVE_KFUNC_SETS
struct btf_kfunc_id_set {
	struct module *owner;
	void *set;
};

#define register_btf_kfunc_id_set(type, functions) ((void)(functions), 0)
#endif

/* Memory. */
#ifndef kzalloc_objs
#define LH_GFP(first, ...) first
#define kmalloc_objs(what, count, ...) \
	((typeof(what) *)kmalloc_array(count, sizeof(typeof(what)), LH_GFP(__VA_ARGS__ __VA_OPT__(,) GFP_KERNEL)))
#define kzalloc_objs(what, count, ...) \
	((typeof(what) *)kcalloc(count, sizeof(typeof(what)), LH_GFP(__VA_ARGS__ __VA_OPT__(,) GFP_KERNEL)))
#define kmalloc_obj(what, ...) kmalloc_objs(what, 1, ##__VA_ARGS__)
#define kzalloc_obj(what, ...) kzalloc_objs(what, 1, ##__VA_ARGS__)
#endif

/* Words of the language. */
#ifndef ACCESS_ONCE
#define ACCESS_ONCE(x) (*(volatile typeof(x) *)&(x))
#endif
#ifndef uninitialized_var
#define uninitialized_var(x) x = x
#endif
#ifndef fallthrough
#define fallthrough do {} while (0)
#endif
#ifndef LH_HAVE_STRLCPY
#define strlcpy(to, from, size) strscpy(to, from, size)
#endif

#endif
