// SPDX-License-Identifier: GPL-2.0
/*
 * lh_shell: stops the virtual clock of a guest at a moment of its run, for a user to look around, and lets it run.
 *
 *	time zero is known    ->  the agent opens a shell before it ("/init shell"), which waits for its first moment
 *	a moment has come     ->  all other work of that instant, then the shell continues
 *	the shell reads       ->  the guest waits in a host call for input, so no virtual time passes
 *	a program works       ->  no virtual time passes, as always
 *	a program waits       ->  the clock continues until it is done: how long is counted, and what packets it sends
 *	"until ..."           ->  the clock continues until the next moment, and the caller with it
 *
 * A moment is an instant, or what the trace would record then: a lost packet, a packet sent again, a sender's values at an ACK
 * (lh_trace.c). The module only looks, its timers change nothing, what programs draw at an instant is given back, and it is loaded
 * after all others: so a run that was stopped has the trace that it has without that.
 *
 * The shell and its programs talk to it through /proc/lh_shell. User-Mode Linux only: it makes system calls of the host.
 */

#include <linux/hrtimer.h>
#include <linux/ip.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/tty.h>
#include <linux/umh.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include <asm/unistd.h>

#include "hooks.h"
#include "kernels_clock.h"
#include "lh_trace.h"
#include "proc_line.h"

#define LH_MOST_LINKS 64
/* Programs that read the clock take a little of it, and shall not end the run. */
#define LH_BEFORE_END_NS NSEC_PER_MSEC
#define LH_WORD 15
/* The host looks after its guest in between; each such look takes no virtual time. */
#define LH_PATIENCE_MS 1000
/* What a program may look at the clock in one instant without waiting for the next. */
#define LH_FREE_LOOKS 1000
/* How often others are let go first before the keeper sleeps. */
#define LH_MOST_TURNS 100

static char *links[LH_MOST_LINKS];
static int nr_links;
module_param_array(links, charp, &nr_links, 0444);
MODULE_PARM_DESC(links, "the devices whose lost packets count");

static int console = 6;
module_param(console, int, 0444);
MODULE_PARM_DESC(console, "host descriptor of the shell's terminal");

/* Fields of a sender that an ACK changes. */
enum field { CWND, SSTHRESH, SRTT, RTT, INFLIGHT, RETRANS, LOST, STATE, FIELDS };

static const char *const field_names[FIELDS] = { "cwnd", "ssthresh", "srtt_us", "rtt_us",
						 "inflight", "retrans", "lost", "state" };

enum kind { AT_TIME, AT_DROP, AT_RETRANSMISSION, AT_FIELD };

/* What to wait for: of one flow (its number and 1), or of the packets to or from one port; 0: of any. */
struct moment {
	enum kind kind;
	u64 at_ns;
	u32 flow, port;
	enum field field;
	char comparison[3];
	u64 value;
};

static DEFINE_SPINLOCK(lock); /* all below */
static struct moment awaited;
static bool is_awaited;
static char reached[96]; /* what the last moment was */
static u64 epoch_ns, end_ns;
static u64 looked_at_ns, passed_ns, sent; /* since the last moment: what programs have let pass, and packets of theirs */

static struct task_struct *keeper;
static struct hrtimer timer;
static struct tty_struct *tty;
static const struct mnt_namespace *shell;
static char *arguments[] = { "/init", "shell", NULL };
static char *environment[] = { "PATH=/bin", NULL };
static bool must_look, has_come;
static DECLARE_WAIT_QUEUE_HEAD(waiting);
static struct clocksource *virtual;
static u64 (*read_before)(struct clocksource *);

/* Negative before time zero. */
static s64 now_ns(void)
{
	return ktime_get_ns() - epoch_ns;
}

/* ---- moments ---- */

static void wake_keeper(void)
{
	WRITE_ONCE(must_look, true);
	wake_up_process(keeper);
}

/* With the lock. */
static void arrive(const char *what)
{
	if (!is_awaited)
		return;
	is_awaited = false;
	strscpy(reached, what, sizeof(reached));
	WRITE_ONCE(has_come, true);
	wake_keeper();
}

static enum hrtimer_restart on_timer(struct hrtimer *unused)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	arrive(awaited.kind == AT_TIME && ktime_get_ns() == epoch_ns + awaited.at_ns ? "time" : "end");
	spin_unlock_irqrestore(&lock, flags);
	return HRTIMER_NORESTART;
}

static bool parse_moment(const char *text, struct moment *moment)
{
	char word[LH_WORD + 1] = "";
	unsigned int i;

	*moment = (struct moment){ .at_ns = U64_MAX };
	if (sscanf(text, "time %llu", &moment->at_ns) == 1) {
		moment->kind = AT_TIME;
		return true;
	}
	if (sscanf(text, "drop %u", &moment->port) == 1) {
		moment->kind = AT_DROP;
		return true;
	}
	if (sscanf(text, "retransmission %u", &moment->flow) == 1) {
		moment->kind = AT_RETRANSMISSION;
		return true;
	}
	if (sscanf(text, "%15s %2s %llu %u", word, moment->comparison, &moment->value, &moment->flow) < 4)
		return false;
	moment->kind = AT_FIELD;
	for (i = 0; i < FIELDS; i++)
		if (!strcmp(word, field_names[i])) {
			moment->field = i;
			return true;
		}
	return false;
}

/* The instant of a moment, or that at which it is no longer waited for. */
static u64 last_ns(const struct moment *moment)
{
	if (moment->kind == AT_TIME && moment->at_ns < end_ns - epoch_ns)
		return epoch_ns + moment->at_ns;
	return end_ns - LH_BEFORE_END_NS;
}

static void await(const struct moment *moment)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	awaited = *moment;
	is_awaited = true;
	has_come = false;
	spin_unlock_irqrestore(&lock, flags);
	hrtimer_start(&timer, ns_to_ktime(last_ns(moment)), HRTIMER_MODE_ABS);
}

static bool compare(u64 is, const char *comparison, u64 value)
{
	bool or_equal = comparison[1] == '=';

	switch (comparison[0]) {
	case '<':
		return is < value || (or_equal && is == value);
	case '>':
		return is > value || (or_equal && is == value);
	default:
		return is == value;
	}
}

/* ---- what happens meanwhile ---- */

static u64 read_field(const struct sock *sk, enum field field)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	switch (field) {
	case CWND:
		return tcp_snd_cwnd(tp);
	case SSTHRESH:
		return tp->snd_ssthresh;
	case SRTT:
		return tp->srtt_us >> 3;
	case RTT:
		return tp->rack.rtt_us;
	case INFLIGHT:
		return tcp_packets_in_flight(tp);
	case RETRANS:
		return tp->total_retrans;
	case LOST:
		return tp->lost;
	default:
		return inet_csk(sk)->icsk_ca_state;
	}
}

/* The number of the flow that this socket sends for, and 1; 0: none. */
static u32 sender_of(const struct sock *sk)
{
	u32 mark = READ_ONCE(sk->sk_mark);

	return mark & LH_MARK_RECEIVER ? 0 : mark;
}

static bool is_awaited_of(enum kind kind, u32 flow)
{
	return READ_ONCE(is_awaited) && awaited.kind == kind && flow && (!awaited.flow || awaited.flow == flow) &&
	       ktime_get_ns() >= epoch_ns;
}

/* The same ACKs as in the trace. */
static void on_tcp_probe(void *unused, struct sock *sk)
{
	u32 flow = sender_of(sk);
	char what[sizeof(reached)];
	unsigned long flags;
	u64 value;

	if (!is_awaited_of(AT_FIELD, flow) || !tcp_sk(sk)->packets_out)
		return;
	value = read_field(sk, awaited.field);
	if (!compare(value, awaited.comparison, awaited.value))
		return;
	snprintf(what, sizeof(what), "%s %llu flow %u", field_names[awaited.field], value, flow - 1);
	spin_lock_irqsave(&lock, flags);
	arrive(what);
	spin_unlock_irqrestore(&lock, flags);
}

static void on_tcp_retransmit_skb(void *unused, const struct sock *sk, const struct sk_buff *skb)
{
	u32 flow = sender_of(sk);
	char what[sizeof(reached)];
	unsigned long flags;

	if (!is_awaited_of(AT_RETRANSMISSION, flow))
		return;
	snprintf(what, sizeof(what), "retransmission flow %u", flow - 1);
	spin_lock_irqsave(&lock, flags);
	arrive(what);
	spin_unlock_irqrestore(&lock, flags);
}

static bool is_followed(const struct net_device *dev)
{
	int i;

	for (i = 0; i < nr_links; i++)
		if (dev && !strcmp(links[i], dev->name))
			return true;
	return false;
}

/* The same drops as in the trace. */
static void on_kfree_skb(void *unused, struct sk_buff *skb)
{
	u16 source = 0, destination = 0;
	char what[sizeof(reached)];
	unsigned long flags;

	if (!READ_ONCE(is_awaited) || awaited.kind != AT_DROP || ktime_get_ns() < epoch_ns ||
	    skb->protocol != htons(ETH_P_IP) || !is_followed(skb->dev))
		return;
	if (ip_hdr(skb)->protocol == IPPROTO_TCP || ip_hdr(skb)->protocol == IPPROTO_UDP) {
		const struct tcphdr *ports = (void *)ip_hdr(skb) + ip_hdrlen(skb);

		source = ntohs(ports->source);
		destination = ntohs(ports->dest);
	}
	if (awaited.port && awaited.port != source && awaited.port != destination)
		return;
	snprintf(what, sizeof(what), "drop at %s ports %u %u", skb->dev->name, source, destination);
	spin_lock_irqsave(&lock, flags);
	arrive(what);
	spin_unlock_irqrestore(&lock, flags);
}

/* What programs of the shell send themselves: the answers to it come from interrupts. */
static void on_net_dev_queue(void *unused, struct sk_buff *skb)
{
	if (shell && in_task() && current->nsproxy && current->nsproxy->mnt_ns == shell &&
	    !(skb->dev->flags & IFF_LOOPBACK))
		sent++;
}

/* At the end of each instant in which the clock continues by itself, the keeper looks whether a program still waits. */
static void on_hrtimer_expire_exit(void *unused, struct hrtimer *which)
{
	if (tty && !READ_ONCE(is_awaited))
		wake_keeper();
}

static struct hook hook_list[] = {
	{ "tcp_probe", on_tcp_probe },
	{ "tcp_retransmit_skb", on_tcp_retransmit_skb },
	{ "kfree_skb", on_kfree_skb },
	{ "net_dev_queue", on_net_dev_queue },
	{ "hrtimer_expire_exit", on_hrtimer_expire_exit },
};

static struct hooks hooks = { .list = hook_list, .count = ARRAY_SIZE(hook_list) };

/* ---- draws ---- */

/*
 * A socket of a program draws its port from the key of its host, as the run's own do. What is drawn while no time passes is given
 * back, so that the run draws what it would have drawn.
 */
static struct draws {
	const struct net *net;
	int made;
} *draws;

static unsigned int nr_draws, room_for_draws;

static void note_draws(void)
{
	struct net *net;

	nr_draws = 0;
	rcu_read_lock();
	for_each_net_rcu(net)
		if (nr_draws < room_for_draws)
			draws[nr_draws++] = (struct draws){ .net = net, .made = atomic_read(&net->draws_made) };
	rcu_read_unlock();
}

static void give_draws_back(void)
{
	struct net *net;
	unsigned int i;

	rcu_read_lock();
	for_each_net_rcu(net)
		for (i = 0; i < nr_draws; i++)
			if (draws[i].net == net)
				atomic_set(&net->draws_made, draws[i].made);
	rcu_read_unlock();
}

/* ---- looks at the clock ---- */

/*
 * A look at the clock takes a program 256 ns, in which programs of the run would be late. It is free for those of the shell, unless
 * one waits in this way for an instant to pass.
 */
static u64 read_clock(struct clocksource *source)
{
	static u64 then, looks;
	unsigned long flags;
	u64 now;

	if (!shell || !in_task() || !current->mm || !current->nsproxy || current->nsproxy->mnt_ns != shell)
		return read_before(source);
	/* With interrupts off the kernel charges nothing. */
	local_irq_save(flags);
	now = read_before(source);
	local_irq_restore(flags);
	looks = now == then ? looks + 1 : 0;
	then = now;
	return looks < LH_FREE_LOOKS ? now : read_before(source);
}

static u64 read_nothing(struct clocksource *source)
{
	return 0;
}

static struct clocksource neighbour = {
	.name = "lh_shell",
	.read = read_nothing,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS,
};

static int take_clock(void)
{
	virtual = find_kernels_clock(&neighbour);
	if (!virtual)
		return -ENODEV;
	read_before = virtual->read;
	virtual->read = read_clock;
	return 0;
}

static void give_clock_back(void)
{
	if (virtual)
		virtual->read = read_before;
	virtual = NULL;
}

/* ---- the keeper of the clock: it runs when nothing else of an instant is left to do ---- */

static void ask_host_for_input(void)
{
	struct pollfd input = { .fd = console, .events = POLLIN };
	long number = __NR_poll;

	/* With interrupts off a signal of the terminal ends it, and is served afterwards. */
	asm volatile("syscall"
		     : "+a"(number)
		     : "D"(&input), "S"(1), "d"(LH_PATIENCE_MS)
		     : "rcx", "r11", "memory");
}

/* Whether all tasks but this one sleep. A run queue does not say so: it also counts some that have gone to sleep. */
static bool is_alone(void)
{
	struct task_struct *process, *task;
	bool alone = true;

	rcu_read_lock();
	for_each_process_thread(process, task)
		if (task != current && task_is_running(task))
			alone = false;
	rcu_read_unlock();
	return alone;
}

/* Stands still until there is input. */
static void hold(void)
{
	unsigned long flags;

	local_irq_save(flags);
	if (is_alone())
		ask_host_for_input();
	local_irq_restore(flags);
}

/*
 * All other work of this instant. Letting others go first takes no time; a scheduler that chooses the keeper again nevertheless, as
 * that of Linux before 6.6 does beside a new process, costs a nanosecond.
 */
static void go_last(void)
{
	ktime_t least = ns_to_ktime(1);
	unsigned int turns;

	for (turns = 0; !is_alone() && turns < LH_MOST_TURNS; turns++)
		yield();
	if (is_alone())
		return;
	set_current_state(TASK_IDLE);
	schedule_hrtimeout(&least, HRTIMER_MODE_REL);
}

/* Whether a program waits for a key. All tasks sleep, so none comes or goes meanwhile. */
static bool is_read(void)
{
	/* No barrier: this processor has no other beside it. */
	return tty && waitqueue_active(&tty->read_wait);
}

static void look(void)
{
	go_last();
	if (READ_ONCE(has_come)) {
		has_come = false;
		passed_ns = 0;
		sent = 0;
		looked_at_ns = now_ns();
		note_draws();
		wake_up(&waiting);
		WRITE_ONCE(must_look, true);
	} else if (!READ_ONCE(is_awaited) && is_read()) {
		if (now_ns() == looked_at_ns)
			give_draws_back();
		else
			note_draws();
		passed_ns += now_ns() - looked_at_ns;
		looked_at_ns = now_ns();
		hold();
		WRITE_ONCE(must_look, true);
	}
}

static int keep(void *unused)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!READ_ONCE(must_look)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(must_look, false);
		look();
	}
	return 0;
}

/* ---- what the agent and the shell write ---- */

/* The shell opens before time zero, so that the time that it needs to start is none of the run's. */
static int begin(u64 at_ns, u64 until_ns)
{
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net)
		room_for_draws++;
	rcu_read_unlock();
	draws = vmalloc(array_size(room_for_draws, sizeof(*draws)));
	if (!draws)
		return -ENOMEM;
	epoch_ns = at_ns;
	end_ns = until_ns;
	return call_usermodehelper(arguments[0], arguments, environment, UMH_WAIT_EXEC);
}

static int run_until(const char *text)
{
	struct moment moment;
	int error;

	if (!parse_moment(text, &moment))
		return -EINVAL;
	if (ktime_get_ns() >= last_ns(&moment))
		return last_ns(&moment) < end_ns - LH_BEFORE_END_NS ? -ERANGE : -ESRCH;
	await(&moment);
	error = wait_event_interruptible(waiting, !READ_ONCE(is_awaited) && !READ_ONCE(has_come));
	if (error) {
		hrtimer_cancel(&timer);
		WRITE_ONCE(is_awaited, false);
		WRITE_ONCE(has_come, false);
		strscpy(reached, "interrupt", sizeof(reached));
		passed_ns = 0;
		sent = 0;
		looked_at_ns = now_ns();
		wake_keeper();
	}
	return error;
}

static void leave_shell(void)
{
	struct tty_struct *left = tty;

	tty = NULL;
	shell = NULL;
	if (left)
		tty_kref_put(left);
}

static int obey(const char *line)
{
	unsigned long long at_ns, until_ns;

	if (sscanf(line, "epoch %llu %llu", &at_ns, &until_ns) == 2)
		return begin(at_ns, until_ns);
	if (!strncmp(line, "until ", 6))
		return run_until(line + 6);
	if (!strncmp(line, "shell", 5)) {
		leave_shell();
		tty = get_current_tty();
		shell = current->nsproxy->mnt_ns;
		return tty ? 0 : -ENOTTY;
	}
	if (!strncmp(line, "leave", 5)) {
		leave_shell();
		return 0;
	}
	return -EINVAL;
}

static ssize_t on_proc_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	char line[128];

	return obey_written(line, sizeof(line), from, count, obey);
}

static ssize_t on_proc_read(struct file *file, char __user *to, size_t count, loff_t *at)
{
	char text[256];
	int length = scnprintf(text, sizeof(text), "%lld %llu %llu %llu %s\n", now_ns(), end_ns - epoch_ns,
			       passed_ns + now_ns() - looked_at_ns, sent, reached);

	return simple_read_from_buffer(to, count, at, text, length);
}

static const struct proc_ops proc_ops = {
	.proc_write = on_proc_write,
	.proc_read = on_proc_read,
	.proc_lseek = default_llseek,
};

/* ---- coming and going ---- */

static int __init lh_shell_init(void)
{
	int error;

	hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	keeper = kthread_run(keep, NULL, "lh_shell");
	if (IS_ERR(keeper))
		return PTR_ERR(keeper);
	sched_set_normal(keeper, MAX_NICE);
	error = hook_all(&hooks);
	if (!error)
		error = take_clock();
	if (!error && !proc_create("lh_shell", 0600, NULL, &proc_ops))
		error = -ENOMEM;
	if (!error)
		return 0;
	give_clock_back();
	unhook_all(&hooks);
	kthread_stop(keeper);
	return error;
}

static void __exit lh_shell_exit(void)
{
	remove_proc_entry("lh_shell", NULL);
	hrtimer_cancel(&timer);
	give_clock_back();
	unhook_all(&hooks);
	kthread_stop(keeper);
	leave_shell();
	vfree(draws);
}

module_init(lh_shell_init);
module_exit(lh_shell_exit);

MODULE_DESCRIPTION("Stops the virtual clock of a guest at a moment, for a shell");
MODULE_LICENSE("GPL");
