/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels, in one place. Kbuild force-includes this file and defines LH_* for each feature it finds
 * in the kernel's headers; no other file asks about kernels. Versions are named only to refuse what was never built.
 */
#ifndef LH_COMPAT_H
#define LH_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 10, 0)
#error "Longhaul's modules need Linux 5.10 or later: build them for a newer kernel"
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "Longhaul's modules are written for Linux 5.10 to 7.3: build them for one of these"
#endif

/* This came with 5.14. */
#include <linux/sched.h>
#ifndef task_is_running
#define task_is_running(task) ((task)->state == TASK_RUNNING)
#endif

/* The window's accessors came with 5.19. */
#ifndef LH_HAVE_CWND_ACCESSORS
/* A header of earlier kernels sets a variable that nothing reads, which W=1 reports. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#include <linux/tcp.h>
#pragma GCC diagnostic pop
#define tcp_snd_cwnd(tp) ((tp)->snd_cwnd)
#define tcp_snd_cwnd_set(tp, val) ((tp)->snd_cwnd = (val))
#endif

/* cong_control() receives the ACK and its flags since 6.10. */
#ifdef LH_CONG_CONTROL_HAS_ACK
#define LH_CONG_CONTROL(name) name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#else
#define LH_CONG_CONTROL(name) name(struct sock *sk, const struct rate_sample *rs)
#endif

/* Timers are set up with their function since 6.13; before, it was written into them. */
#ifndef LH_HAVE_HRTIMER_SETUP
#define hrtimer_setup(timer, served_by, clock, mode) \
	do { \
		hrtimer_init(timer, clock, mode); \
		(timer)->function = served_by; \
	} while (0)
#endif

/* newlink() receives its attributes in a structure since 6.15. */
#ifdef LH_NEWLINK_HAS_PARAMS
#define LH_NEWLINK(name) \
	name(struct net_device *dev, struct rtnl_newlink_params *params, struct netlink_ext_ack *extack)
#define LH_NEWLINK_DATA (params->data)
#else
#define LH_NEWLINK(name) \
	name(struct net *source, struct net_device *dev, struct nlattr *attributes[], struct nlattr *data[], \
	     struct netlink_ext_ack *extack)
#define LH_NEWLINK_DATA data
#endif

/* References to devices have names since 6.0. */
#ifndef LH_HAVE_NETDEV_HOLD
#include <linux/netdevice.h>
struct lh_reference {
};

#define netdevice_tracker struct lh_reference
#define netdev_hold(dev, reference, gfp) \
	do { \
		(void)(reference); \
		(void)(gfp); \
		dev_hold(dev); \
	} while (0)
#define netdev_put(dev, reference) \
	do { \
		(void)(reference); \
		dev_put(dev); \
	} while (0)
#endif

/* Before 5.18 a device's drops were one word. */
#ifndef LH_HAVE_CORE_STATS
#define dev_core_stats_tx_dropped_inc(dev) atomic_long_inc(&(dev)->tx_dropped)
#endif

/* Segmentation has a header of its own since 6.5. */
#ifdef LH_HAVE_GSO_HEADER
#define LH_GSO_HEADER "net/gso.h"
#else
#define LH_GSO_HEADER "linux/netdevice.h"
#endif

#endif
