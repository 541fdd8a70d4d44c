// SPDX-License-Identifier: GPL-2.0
/*
 * lh_clock: programs that poll the clock, in guests of scripts alone; runs do not load it.
 *
 * In virtual time the clock stands still while a program works, and each of a program's looks at it takes 256 ns. So a program
 * that looks again and again until a moment has come, as ping does for up to 10 ms, has to look thousands of times. Here the
 * looks of a program that does little else take longer, the longer that has been so: at most a 128th of that, and 250 us. A
 * timer that is due on the way is served at its time, and the look ends there if another program is to run.
 *
 * The first thousand looks take as long as ever, so nothing changes for a program that does not wait in this way.
 *
 * It also writes to a descriptor of the host how far virtual time has come, and which program runs, when the host asks by a
 * SIGALRM: a program that makes no time pass is named and ended there.
 *
 *	time 12			at every second
 *	runs 345 h1 67 python3	thread, host of Mininet or -, how often it has slept, name
 */

#include <linux/delay.h>
#include <linux/hrtimer.h>
#ifdef LH_HAVE_HRTIMER_BASES
#include <linux/hrtimer_bases.h>
#endif
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>
#include <net/net_namespace.h>

#include "kernels_clock.h"

/* arch/um/os-Linux/file.c; its header is private to arch/um. */
extern int os_write_file(int fd, const void *buf, int len);

/* So much of looking at the clock takes no longer than ever: a thousand looks. */
#define FREE_NS (1000 * 256)
/* Then a look takes at most this part of the time that the program has been looking, and at most this. */
#define PART_SHIFT 7
#define LONGEST_NS (250 * NSEC_PER_USEC)
#define MANY 1024
/* No system call begins with this in the register of its result. */
#define LOOKED 1

static int fd = 5;
module_param(fd, int, 0444);
MODULE_PARM_DESC(fd, "host descriptor that the progress is written to");

/* A thread; of two in one place, each forgets how long the other has been looking. */
struct asker {
	pid_t pid;
	unsigned long faults, sleeps;
	u64 looked_ns; /* what its looks have taken, without what it has slept since */
	u64 last_ns;
};

static struct asker askers[MANY];
static struct clocksource *kernels_clock;
static struct hrtimer second;

static u64 read_kernels(void)
{
	unsigned long flags;
	u64 now;

	/* With interrupts off it takes no time. */
	local_irq_save(flags);
	now = kernels_clock->read(kernels_clock);
	local_irq_restore(flags);
	return now;
}

static u64 next_timer_in_ns(void)
{
	const struct hrtimer_cpu_base *base = second.base->cpu_base;
	unsigned long flags;
	s64 left;

	local_irq_save(flags);
	left = ktime_to_ns(ktime_sub(base->expires_next, ktime_get()));
	local_irq_restore(flags);
	return left > 0 ? left : 1;
}

static void pass_time(u64 ns)
{
	u64 now = read_kernels(), end = now + ns;

	while (now < end && !need_resched() && !signal_pending(current)) {
		ndelay(min(end - now, next_timer_in_ns()));
		now = read_kernels();
	}
}

/* A program that works needs memory, and one that waits sleeps: neither only looks at the clock. */
static struct asker *find_asker(u64 now)
{
	struct asker *asker = &askers[current->pid % MANY];
	unsigned long faults = current->min_flt + current->maj_flt;

	if (asker->pid != current->pid || asker->faults != faults)
		asker->looked_ns = 0;
	else if (asker->sleeps != current->nvcsw)
		asker->looked_ns -= min(asker->looked_ns, now - asker->last_ns);
	asker->pid = current->pid;
	asker->faults = faults;
	asker->sleeps = current->nvcsw;
	return asker;
}

/*
 * The kernel reads again if a tick came meanwhile; a look that took longer each time could last for ever. The register of a system
 * call's result is free until it ends.
 */
static bool reads_again(void)
{
	struct pt_regs *regs = &current->thread.regs;
	bool again = PT_REGS_AX(regs) == LOOKED;

	PT_REGS_AX(regs) = LOOKED;
	return again;
}

static u64 on_read(struct clocksource *ours)
{
	struct asker *asker;
	u64 before, now;

	if (irqs_disabled() || in_interrupt() || !current->mm)
		return kernels_clock->read(kernels_clock);
	before = read_kernels();
	now = kernels_clock->read(kernels_clock);
	/* The kernel's own looks take no time. */
	if (now == before || reads_again())
		return now;
	asker = find_asker(before);
	if (asker->looked_ns >= FREE_NS) {
		pass_time(min_t(u64, asker->looked_ns >> PART_SHIFT, LONGEST_NS));
		now = read_kernels();
	}
	asker->looked_ns = min_t(u64, asker->looked_ns + now - before, LONGEST_NS << PART_SHIFT);
	asker->last_ns = now;
	return now;
}

static struct clocksource clock = {
	.name = "lh_clock",
	.read = on_read,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS,
};

/* ---- what the host reads ---- */

static void tell_host(const char *text, int length)
{
	/* The host misses a line if its disk is full, and ends the guest later. */
	os_write_file(fd, text, length);
}

static enum hrtimer_restart on_second(struct hrtimer *timer)
{
	char line[48];

	hrtimer_forward_now(timer, NSEC_PER_SEC);
	tell_host(line, scnprintf(line, sizeof(line), "time %llu\n", ktime_get_ns() / NSEC_PER_SEC));
	return HRTIMER_RESTART;
}

/* A host of Mininet has devices that begin with its name: h1-eth0. */
static void name_host(char *name, int size)
{
	struct net *net = current->nsproxy ? current->nsproxy->net_ns : &init_net;
	struct net_device *dev;

	strscpy(name, "-", size);
	if (net_eq(net, &init_net))
		return;
	rcu_read_lock();
	for_each_netdev_rcu(net, dev) {
		if (dev->flags & IFF_LOOPBACK)
			continue;
		scnprintf(name, size, "%.*s", (int)strcspn(dev->name, "-"), dev->name);
		break;
	}
	rcu_read_unlock();
}

/* The host's signal comes as the interrupt of a timer, but none is due. */
static void on_interrupt(void *unused, int irq, struct irqaction *action)
{
	char line[96], name[IFNAMSIZ];

	if (ktime_compare(second.base->cpu_base->expires_next, ktime_get()) <= 0)
		return;
	name_host(name, sizeof(name));
	tell_host(line, scnprintf(line, sizeof(line), "runs %d %s %lu %s\n", current->pid, name, current->nvcsw,
				  current->comm));
}

static struct tracepoint *interrupt;

static void match_interrupt(struct tracepoint *point, void *unused)
{
	if (!strcmp(point->name, "irq_handler_entry"))
		interrupt = point;
}

/* ---- coming and going ---- */

static int __init lh_clock_init(void)
{
	int error;

	if (time_travel_mode != TT_MODE_INFCPU)
		return -ENODEV;
	kernels_clock = find_kernels_clock(&clock);
	if (!kernels_clock)
		return -ENODEV;
	for_each_kernel_tracepoint(match_interrupt, NULL);
	error = interrupt ? tracepoint_probe_register(interrupt, on_interrupt, NULL) : -ENOENT;
	if (error)
		return error;
	hrtimer_setup(&second, on_second, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_start(&second, NSEC_PER_SEC, HRTIMER_MODE_REL_HARD);
	clock.rating = KERNELS_RATING + 1;
	return clocksource_register_hz(&clock, NSEC_PER_SEC);
}

/* It stays until the guest ends. */
module_init(lh_clock_init);

MODULE_DESCRIPTION("Programs that poll the clock, in a virtual-time guest");
MODULE_LICENSE("GPL");
