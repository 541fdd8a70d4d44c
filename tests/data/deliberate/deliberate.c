// SPDX-License-Identifier: GPL-2.0
/*
 * A module with one deliberate fault, chosen by `fault`: what rings when a kernel watches itself, and what does not ring.
 *
 * Never loaded outside of a guest. Every fault is one that the kernel survives, so that the run goes on to its end.
 */
#include <linux/bug.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

static char *fault = "none";
module_param(fault, charp, 0444);

static DEFINE_MUTEX(one);
static DEFINE_MUTEX(other);
static DEFINE_SPINLOCK(spin);
static int table[4];

/* Opaque to the compiler, which would refuse or remove what is plainly wrong. */
static noinline int hidden(int number)
{
	OPTIMIZER_HIDE_VAR(number);
	return number;
}

static void heap(int place, bool freed)
{
	volatile char *bytes = kmalloc(24, GFP_KERNEL);

	if (!bytes)
		return;
	if (freed)
		kfree((void *)bytes);
	bytes[hidden(place)] = 1;
	if (!freed)
		kfree((void *)bytes);
}

static void stack(void)
{
	volatile char bytes[16], *beyond = bytes;

	/* The next byte belongs to nobody: instrumented frames leave room there. */
	beyond[hidden(sizeof(bytes))] = 1;
}

static void virtual_memory(void)
{
	volatile char *bytes = vmalloc(4000);

	if (!bytes)
		return;
	bytes[hidden(4000)] = 1;
	vfree((void *)bytes);
}

static void crossed_locks(void)
{
	mutex_lock(&one);
	mutex_lock(&other);
	mutex_unlock(&other);
	mutex_unlock(&one);
	mutex_lock(&other);
	mutex_lock(&one);
	mutex_unlock(&one);
	mutex_unlock(&other);
}

static void sleep_in_atomic(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

static void timer_without_setup(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, NULL, 0);
	timer->function = (void *)heap;
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
	/* kfree() of an object in use is refused by DEBUG_OBJECTS, which takes the timer off its list. */
}

static int __init deliberate_init(void)
{
	if (!strcmp(fault, "warning"))
		WARN(1, "a warning on purpose");
	else if (!strcmp(fault, "heap"))
		heap(24, false);
	else if (!strcmp(fault, "freed"))
		heap(0, true);
	else if (!strcmp(fault, "stack"))
		stack();
	else if (!strcmp(fault, "vmalloc"))
		virtual_memory();
	else if (!strcmp(fault, "shift"))
		table[0] = 1 << hidden(40);
	else if (!strcmp(fault, "index"))
		table[hidden(4)] = 1;
	else if (!strcmp(fault, "locks"))
		crossed_locks();
	else if (!strcmp(fault, "atomic"))
		sleep_in_atomic();
	else if (!strcmp(fault, "timer"))
		timer_without_setup();
	return 0;
}

static void __exit deliberate_exit(void)
{
}

module_init(deliberate_init);
module_exit(deliberate_exit);

MODULE_DESCRIPTION("one deliberate fault");
MODULE_LICENSE("GPL");
