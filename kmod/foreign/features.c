// SPDX-License-Identifier: GPL-2.0
/*
 * Which interfaces the headers of a kernel have: probe-features.sh compiles this file, and a feature is there if its
 * line has no error. Each probe is one line.
 */
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/hrtimer.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/timer.h>
#include <net/rtnetlink.h>
#include <net/tcp.h>

typedef void four_arguments(struct sock *, u32, int, const struct rate_sample *);

#define PROBE(feature, code) static void __attribute__((used)) feature(struct tcp_congestion_ops *ops, struct tcp_sock *tp, void *any) { code; }

PROBE(LH_CONG_CONTROL_HAS_ACK, four_arguments *f = ops->cong_control; (void)f)
PROBE(LH_HAVE_TSO_SEGS, (void)ops->tso_segs)
PROBE(LH_HAVE_TSO_SEGS_GOAL, (void)ops->tso_segs_goal)
PROBE(LH_SEND_ACK_HAS_FLAGS, __tcp_send_ack(any, 0, 0))
PROBE(LH_HAVE_ECN_MODES, (void)tcp_ecn_mode_any(tp))
PROBE(LH_HAVE_TX_START, (void)ops->cwnd_event_tx_start)
PROBE(LH_HAVE_CWND_ACCESSORS, tcp_snd_cwnd_set(tp, 1))
PROBE(LH_HAVE_HRTIMER_SETUP, hrtimer_setup(any, any, 0, 0))
PROBE(LH_HAVE_HRTIMER_INIT, hrtimer_init(any, 0, 0))
PROBE(LH_HAVE_NETDEV_HOLD, netdevice_tracker *t = any; (void)t)
PROBE(LH_HAVE_CORE_STATS, dev_core_stats_tx_dropped_inc(any))
PROBE(LH_NEWLINK_HAS_PARAMS, struct rtnl_newlink_params *p = any; (void)p->data)
PROBE(LH_HAVE_PRANDOM_U32, (void)prandom_u32())
PROBE(LH_HAVE_PRANDOM_U32_MAX, (void)prandom_u32_max(2))
PROBE(LH_HAVE_RANDOM_BELOW, (void)get_random_u32_below(2))
PROBE(LH_HAVE_NET_DRAWS, (void)net_random_u32(any))
PROBE(LH_HAVE_DEL_TIMER, (void)del_timer(any))
PROBE(LH_HAVE_TIMER_DELETE, (void)timer_delete(any))
PROBE(LH_HAVE_TIME_STAMP, (void)tcp_time_stamp(tp))
PROBE(LH_HAVE_TIME_STAMP_TS, (void)tcp_time_stamp_ts(tp))
PROBE(LH_HAVE_TIME_STAMP_MS, (void)tcp_time_stamp_ms(tp))
PROBE(LH_HAVE_CLOCK_MS, (void)tcp_clock_ms())
PROBE(LH_HAVE_STRLCPY, strlcpy(any, any, 1))
PROBE(LH_HAVE_PROC_OPS, (void)((struct proc_ops *)any)->proc_open)
PROBE(LH_HAVE_SYSCTL_SIZES, (void)register_net_sysctl_sz(any, any, any, 1))
PROBE(LH_HAVE_KFUNC_SETS, (void)register_btf_kfunc_id_set(0, any))
PROBE(LH_SEND_ACK_HAS_FLAGS, __tcp_send_ack(any, 0, 0))
