/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What makes a module of a BPF program, behind it. orchestrator/modules/bpf.py writes one line for each control, map, parameter
 * and number of the kernel's configuration that the program has, and uses no word that a program may have made its own.
 */
#ifndef LH_BPF_MODULE_H
#define LH_BPF_MODULE_H

/* cong_control() receives the ACK and its flags since 6.10, and a program is written for one of the two. */
#ifdef LH_CONG_CONTROL_HAS_ACK
#define LH_BPF_CONG_CONTROL_2(control, function) \
	static void lh_bpf_##control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) \
	{ \
		((void (*)(struct sock *, const struct rate_sample *))(void *)(function))(sk, rs); \
	} \
	static void lh_bpf_adapt_##control(void) \
	{ \
		control.cong_control = lh_bpf_##control; \
	}
#define LH_BPF_CONG_CONTROL_4(control, function) static void lh_bpf_adapt_##control(void) {}
#else
#define LH_BPF_CONG_CONTROL_2(control, function) static void lh_bpf_adapt_##control(void) {}
#define LH_BPF_CONG_CONTROL_4(control, function) \
	static void lh_bpf_##control(struct sock *sk, const struct rate_sample *rs) \
	{ \
		((void (*)(struct sock *, u32, int, const struct rate_sample *))(void *)(function)) \
			(sk, ((struct tcp_sock *)sk)->snd_una, 0, rs); \
	} \
	static void lh_bpf_adapt_##control(void) \
	{ \
		control.cong_control = lh_bpf_##control; \
	}
#endif
#define LH_BPF_AS_IT_IS(control) static void lh_bpf_adapt_##control(void) {}

#define LH_BPF_MAP(map_variable, map_type, key, value, entries) \
	{ .variable = &(map_variable), .type = (map_type), .key_size = (key), .value_size = (value), .max_entries = (entries) }
#define LH_BPF_MAP_KIND(map_variable, kind) \
	_Static_assert((kind) == BPF_MAP_TYPE_ARRAY || (kind) == BPF_MAP_TYPE_PERCPU_ARRAY || (kind) == BPF_MAP_TYPE_HASH || \
		       (kind) == BPF_MAP_TYPE_PERCPU_HASH || (kind) == BPF_MAP_TYPE_LRU_HASH || \
		       (kind) == BPF_MAP_TYPE_LRU_PERCPU_HASH || (kind) == BPF_MAP_TYPE_SK_STORAGE || \
		       (kind) == BPF_MAP_TYPE_RINGBUF || (kind) == BPF_MAP_TYPE_PERF_EVENT_ARRAY, \
		       "the type of its map " #map_variable " is not among those of a native build: arrays, hash tables, storage of sockets, and buffers")

#define LH_BPF_KCONFIG(name) typeof(name) name = lh_kconfig_##name

#endif
