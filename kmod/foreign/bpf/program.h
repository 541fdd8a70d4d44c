/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets a BPF program with struct_ops of tcp_congestion_ops compile unedited as a module. build-user-modules.sh includes this
 * file in front of the program, in place of vmlinux.h and of libbpf's headers, and orchestrator/modules/bpf.py writes what
 * follows the program (module.h).
 *
 * vmlinux.h has the kernel's types and no other of its words. So what a program defines itself wins over the kernel's word:
 * bpf.py removes the kernel's macro of that name, and the script renames the program's own function or type where the compiler
 * reports that there are two.
 */
#ifndef LH_BPF_PROGRAM_H
#define LH_BPF_PROGRAM_H

/* So the compiler names the place in the program where an error is inside a word of this file. */
#pragma GCC system_header

#include <linux/bpf.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/sock.h>
#include <net/tcp.h>

/* The kernel's functions as they are: foreign.h has macros for older callers. */
#undef tcp_is_cwnd_limited
#undef tcp_cong_avoid_ai

#define LH_JOIN_(a, b) a##b
#define LH_JOIN(a, b) LH_JOIN_(a, b)

#include "maps.h"
#include "socket.h"

/* A helper that a module cannot have: the error of the compiler is the sentence. */
#define LH_BPF_NONE(name, reason) \
	extern long lh_bpf_no_##name(void) \
		__attribute__((error("it calls the BPF helper " #name "(), which a native build does not have: " reason)))

/* Sections are for libbpf; what registers is in module.h. */
#undef SEC
#define SEC(name) __attribute__((unused))
#define BPF_PROG(name, args...) name(args)
#define BPF_PROG2(name, args...) name(args)
#define BPF_STRUCT_OPS(name, args...) name(args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) name(args)
#define BPF_TCP_OPS_0(name, type) type name(void)
#define BPF_TCP_OPS_1(name, type, t1, a1) type name(t1 a1)
#define BPF_TCP_OPS_2(name, type, t1, a1, t2, a2) type name(t1 a1, t2 a2)
#define BPF_TCP_OPS_3(name, type, t1, a1, t2, a2, t3, a3) type name(t1 a1, t2 a2, t3 a3)
#define BPF_TCP_OPS_4(name, type, t1, a1, t2, a2, t3, a3, t4, a4) type name(t1 a1, t2 a2, t3 a3, t4 a4)

#undef __ksym
#define __ksym
#undef __kconfig
#define __kconfig
#undef __hidden
#define __hidden
#undef __kptr
#define __kptr
#define __kptr_untrusted
#undef __percpu_kptr
#define __percpu_kptr
#define __arg_ctx
#define __arg_nonnull
#define __arg_nullable
#define __arg_trusted
#define __arg_arena
#define __imm(name) [name] "i"(name)
#define __success
#define __failure
#define __msg(text)
#define __description(text)

enum libbpf_tristate {
	TRI_NO = 0,
	TRI_YES = 1,
	TRI_MODULE = 2,
};

#ifndef offsetofend
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#endif
#define bpf_ksym_exists(symbol) ((void)(symbol), 1)
#ifndef barrier_var
#define barrier_var(variable) asm volatile("" : "+r"(variable))
#endif
#define __sink(expression) asm volatile("" : "+g"(expression))
#define bpf_unreachable() __builtin_unreachable()
#define UINT8_MAX U8_MAX
#define UINT16_MAX U16_MAX
#define UINT32_MAX U32_MAX
#define UINT64_MAX U64_MAX
#define INT32_MAX S32_MAX
#define INT64_MAX S64_MAX

/* Reads of the kernel's memory. The compiler knows the layout of this kernel, so that nothing is relocated. */
#define __builtin_preserve_access_index(expression) (expression)
#define LH_PATH_1(a) a
#define LH_PATH_2(a, b) a->b
#define LH_PATH_3(a, b, c) a->b->c
#define LH_PATH_4(a, b, c, d) a->b->c->d
#define LH_PATH_5(a, b, c, d, e) a->b->c->d->e
#define LH_PATH_6(a, b, c, d, e, f) a->b->c->d->e->f
#define LH_PATH_7(a, b, c, d, e, f, g) a->b->c->d->e->f->g
#define LH_PATH_8(a, b, c, d, e, f, g, h) a->b->c->d->e->f->g->h
#define LH_PATH_9(a, b, c, d, e, f, g, h, i) a->b->c->d->e->f->g->h->i
#define LH_COUNT_(a, b, c, d, e, f, g, h, i, n, ...) n
#define LH_COUNT(args...) LH_COUNT_(args, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define BPF_CORE_READ(from, args...) ((from)->LH_JOIN(LH_PATH_, LH_COUNT(args))(args))
#define BPF_CORE_READ_INTO(to, from, args...) ({ *(to) = BPF_CORE_READ(from, args); 0; })
#define BPF_CORE_READ_USER(args...) BPF_CORE_READ(args)
#define BPF_CORE_READ_STR_INTO(to, from, args...) \
	bpf_probe_read_kernel_str(to, sizeof(*(to)), BPF_CORE_READ(from, args))
#define BPF_PROBE_READ(from, args...) BPF_CORE_READ(from, args)
#define BPF_PROBE_READ_INTO(to, from, args...) BPF_CORE_READ_INTO(to, from, args)
#define BPF_CORE_READ_BITFIELD(from, field) ((u64)(from)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((u64)(from)->field)
#define BPF_CORE_WRITE_BITFIELD(to, field, value) ((to)->field = (value))
#define bpf_core_read(to, size, from) bpf_probe_read_kernel(to, size, from)
#define bpf_core_read_str(to, size, from) bpf_probe_read_kernel_str(to, size, from)
#define bpf_core_cast(pointer, type) ((type *)(pointer))
#define bpf_rdonly_cast(pointer, id) ((void *)(pointer))
/* What this kernel lacks is an error of the compiler. */
#define LH_FIELD_SIZE(field) ((u32)sizeof(field))
#define LH_MEMBER_SIZE(type, field) ((u32)sizeof(((type *)0)->field))
#define LH_CHOOSE(one, two, pick, ...) pick
#define LH_FIELD(args...) LH_CHOOSE(args, LH_MEMBER_SIZE, LH_FIELD_SIZE)(args)
#define bpf_core_field_exists(args...) (LH_FIELD(args) > 0)
#define bpf_core_field_size(args...) LH_FIELD(args)
#define bpf_core_field_offset(type, field) ((u32)offsetof(type, field))
#define bpf_core_type_exists(type) (sizeof(type *) > 0)
#define bpf_core_type_size(type) sizeof(type)
#define bpf_core_type_matches(type) (sizeof(type *) > 0)
#define bpf_core_enum_value_exists(type, value) ((void)(type)(value), 1)
#define bpf_core_enum_value(type, value) ((u64)(type)(value))

static inline long __maybe_unused bpf_probe_read_kernel(void *to, u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

static inline long __maybe_unused bpf_probe_read_kernel_str(void *to, u32 size, const void *from)
{
	return size ? strscpy(to, from, size) : 0;
}

#define bpf_probe_read(to, size, from) bpf_probe_read_kernel(to, size, from)

/* Time and chance. */
#define bpf_ktime_get_ns() ktime_get_ns()
#define bpf_ktime_get_boot_ns() ktime_get_boottime_ns()
#define bpf_ktime_get_coarse_ns() ktime_get_coarse_ns()
#define bpf_ktime_get_tai_ns() ktime_get_clocktai_ns()
#define bpf_jiffies64() get_jiffies_64()
#define bpf_get_prandom_u32() get_random_u32()
#define bpf_get_smp_processor_id() ((u32)raw_smp_processor_id())
#define bpf_get_numa_node_id() 0L

/* Messages go to the tracing pipe, which nothing reads in a guest. Their arguments are computed. */
static inline __printf(1, 2) long __maybe_unused lh_bpf_printk(const char *format, ...)
{
	return 0;
}

#define bpf_printk(format, args...) lh_bpf_printk(format, ##args)
#define bpf_trace_printk(format, size, args...) lh_bpf_printk(format, ##args)

/* Loops. */
static inline long __maybe_unused lh_bpf_loop(u32 count, long (*step)(u64 index, void *context), void *context, u64 flags)
{
	u32 index;

	if (flags)
		return -EINVAL;
	if (count > 1U << 23)
		return -E2BIG;
	for (index = 0; index < count; index++)
		if ((int)step(index, context))
			return index + 1;
	return index;
}

#define bpf_loop(count, step, context, flags) \
	lh_bpf_loop(count, (long (*)(u64, void *))(step), (void *)(context), flags)
#define bpf_for(index, from, to) for ((index) = (from); (index) < (to); (index)++)
#define bpf_repeat(count) for (int lh_turn = 0; lh_turn < (count); lh_turn++)
#define can_loop true
#define cond_break do {} while (0)

/* The locks of programs. A guest has one processor. */
#define bpf_spin_lock(lock) ((void)(lock), local_bh_disable())
#define bpf_spin_unlock(lock) ((void)(lock), local_bh_enable())
#define bpf_rcu_read_lock() rcu_read_lock()
#define bpf_rcu_read_unlock() rcu_read_unlock()
#define bpf_preempt_disable() preempt_disable()
#define bpf_preempt_enable() preempt_enable()

/* No program reads these buffers in a guest: they are as good as full. */
#define bpf_ringbuf_output(map, data, size, flags) ((void)(data), -EAGAIN)
#define bpf_ringbuf_reserve(map, size, flags) ((void *)NULL)
#define bpf_ringbuf_submit(data, flags) ((void)(data))
#define bpf_ringbuf_discard(data, flags) ((void)(data))
#define bpf_ringbuf_query(map, flags) 0ULL
#define bpf_perf_event_output(context, map, flags, data, size) ((void)(data), -ENOENT)

/* Byte order (bpf_endian.h). */
#define bpf_htons(x) htons(x)
#define bpf_ntohs(x) ntohs(x)
#define bpf_htonl(x) htonl(x)
#define bpf_ntohl(x) ntohl(x)
#define bpf_cpu_to_be64(x) cpu_to_be64(x)
#define bpf_be64_to_cpu(x) be64_to_cpu(x)

LH_BPF_NONE(bpf_timer_init, "timers of BPF programs run in the kernel's BPF");
LH_BPF_NONE(bpf_timer_start, "timers of BPF programs run in the kernel's BPF");
LH_BPF_NONE(bpf_timer_set_callback, "timers of BPF programs run in the kernel's BPF");
LH_BPF_NONE(bpf_timer_cancel, "timers of BPF programs run in the kernel's BPF");
LH_BPF_NONE(bpf_tail_call, "it continues in another BPF program");
LH_BPF_NONE(bpf_get_current_task, "no task stands behind a congestion control");
LH_BPF_NONE(bpf_get_current_task_btf, "no task stands behind a congestion control");
LH_BPF_NONE(bpf_get_current_pid_tgid, "no task stands behind a congestion control");
LH_BPF_NONE(bpf_get_current_comm, "no task stands behind a congestion control");
LH_BPF_NONE(bpf_probe_read_user, "no task stands behind a congestion control");
LH_BPF_NONE(bpf_user_ringbuf_drain, "no program writes to it in a guest");
#define bpf_timer_init(args...) lh_bpf_no_bpf_timer_init()
#define bpf_timer_start(args...) lh_bpf_no_bpf_timer_start()
#define bpf_timer_set_callback(args...) lh_bpf_no_bpf_timer_set_callback()
#define bpf_timer_cancel(args...) lh_bpf_no_bpf_timer_cancel()
#define bpf_tail_call(args...) lh_bpf_no_bpf_tail_call()
#define bpf_get_current_task(args...) lh_bpf_no_bpf_get_current_task()
#define bpf_get_current_task_btf(args...) ((struct task_struct *)lh_bpf_no_bpf_get_current_task_btf())
#define bpf_get_current_pid_tgid(args...) lh_bpf_no_bpf_get_current_pid_tgid()
#define bpf_get_current_comm(args...) lh_bpf_no_bpf_get_current_comm()
#define bpf_probe_read_user(args...) lh_bpf_no_bpf_probe_read_user()
#define bpf_user_ringbuf_drain(args...) lh_bpf_no_bpf_user_ringbuf_drain()

/*
 * Registration. The kernel refuses a control without a function that it needs; the module's others stay.
 */
static __always_inline int lh_bpf_register(struct tcp_congestion_ops *ops)
{
	int err;

	ops->owner = &__this_module;
#ifdef LH_HAVE_TX_START
	if (ops->cwnd_event && !ops->cwnd_event_tx_start)
		ops->cwnd_event_tx_start = lh_tx_start;
#endif
	err = (tcp_register_congestion_control)(ops);
	if (!err)
		lh_bpf_controls = ops->list.next;
	else
		ops->owner = NULL;
	return err;
}

static __always_inline void lh_bpf_unregister(struct tcp_congestion_ops *ops)
{
	if (ops->owner)
		tcp_unregister_congestion_control(ops);
}

/* The self-tests' headers (bpf_tracing_net.h, bpf_tcp_helpers.h, bpf_misc.h): the kernel has the rest of their words. */
#ifndef TCP_ECN_OK
#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8
#endif
/* What an ACK does, as cong_control() receives it. */
#ifdef LH_CONG_CONTROL_HAS_ACK
#define FLAG_DATA_ACKED 0x04
#define FLAG_SYN_ACKED 0x10
#define FLAG_DATA_SACKED 0x20
#define FLAG_SND_UNA_ADVANCED 0x400
#define FLAG_ACKED (FLAG_DATA_ACKED | FLAG_SYN_ACKED)
#define FLAG_FORWARD_PROGRESS (FLAG_ACKED | FLAG_DATA_SACKED)
#endif
#ifndef min_not_zero
#define min_not_zero(x, y) ({ typeof(x) lh_x = (x); typeof(y) lh_y = (y); !lh_x ? lh_y : !lh_y || lh_x < lh_y ? lh_x : lh_y; })
#endif

static inline bool __maybe_unused tcp_cc_eq(const char *a, const char *b)
{
	return !strncmp(a, b, TCP_CA_NAME_MAX);
}

#endif
