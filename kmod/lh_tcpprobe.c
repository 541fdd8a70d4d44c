// SPDX-License-Identifier: GPL-2.0
/*
 * lh_tcpprobe: /proc/net/tcpprobe as Linux had it until 4.15, for scripts that do `modprobe tcp_probe port=5001 full=1` and read
 * that file. Only guests of scripts load it, when they ask for it.
 *
 * One line for each segment that an established connection receives, at both of its ends:
 *
 *	seconds since the file was opened, own address, other address, bytes of the segment with its header, snd_nxt, snd_una,
 *	snd_cwnd, ssthresh, snd_wnd, smoothed round trip in us, rcv_wnd
 *
 * The file is the same in every network namespace and has the connections of all, since Mininet's scripts read it outside of their hosts.
 * A line goes to one reader. A reader gets the lines that are there: Linux let it wait for as many as it had asked for, and the
 * last were lost with a reader that was killed.
 */

#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#define MOST_LINES 1048576

static int port;
module_param(port, int, 0);
MODULE_PARM_DESC(port, "port at either end; 0: all");

static int full;
module_param(full, int, 0);
MODULE_PARM_DESC(full, "1: each segment; 0: those that changed a window");

static unsigned int bufsize = 4096;
module_param(bufsize, uint, 0);
MODULE_PARM_DESC(bufsize, "lines that wait for a reader");

static unsigned int fwmark;
module_param(fwmark, uint, 0);
MODULE_PARM_DESC(fwmark, "mark of the connections; 0: all");

union address {
	struct sockaddr raw;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct line {
	ktime_t at;
	union address own, other;
	u32 length, snd_nxt, snd_una, cwnd, ssthresh, snd_wnd, srtt_us, rcv_wnd;
};

static struct line *lines;
/* Places are taken by their numbers below bufsize; the difference is what waits. */
static unsigned int first, next;
static u32 last_cwnd;
static ktime_t opened;
static DEFINE_SPINLOCK(lock);
static DECLARE_WAIT_QUEUE_HEAD(readers);

static bool is_wanted(const struct sock *sk, const struct sk_buff *skb)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (port && ntohs(inet->inet_sport) != port && ntohs(inet->inet_dport) != port)
		return false;
	return !fwmark || skb->mark == fwmark;
}

static void note_addresses(struct line *line, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(&line->own, 0, sizeof(line->own));
	memset(&line->other, 0, sizeof(line->other));
	if (sk->sk_family == AF_INET) {
		line->own.v4 = (struct sockaddr_in){ .sin_family = AF_INET,
						     .sin_port = inet->inet_sport,
						     .sin_addr.s_addr = inet->inet_saddr };
		line->other.v4 = (struct sockaddr_in){ .sin_family = AF_INET,
						       .sin_port = inet->inet_dport,
						       .sin_addr.s_addr = inet->inet_daddr };
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	line->own.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					      .sin6_port = inet->inet_sport,
					      .sin6_addr = inet6_sk(sk)->saddr };
	line->other.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
						.sin6_port = inet->inet_dport,
						.sin6_addr = sk->sk_v6_daddr };
#endif
}

static void on_segment(void *unused, struct sock *sk, struct sk_buff *skb)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct line *line;

	if (!is_wanted(sk, skb))
		return;
	spin_lock_bh(&lock);
	if ((full || tcp_snd_cwnd(tp) != last_cwnd) && next - first < bufsize) {
		line = &lines[next++ & (bufsize - 1)];
		line->at = ktime_get();
		note_addresses(line, sk);
		line->length = skb->len;
		line->snd_nxt = tp->snd_nxt;
		line->snd_una = tp->snd_una;
		line->cwnd = tcp_snd_cwnd(tp);
		line->ssthresh = tcp_current_ssthresh(sk);
		line->snd_wnd = tp->snd_wnd;
		line->srtt_us = tp->srtt_us >> 3;
		line->rcv_wnd = tp->rcv_wnd;
	}
	last_cwnd = tcp_snd_cwnd(tp);
	spin_unlock_bh(&lock);
	wake_up(&readers);
}

/* The next line's length, or 0 if there is none; it goes only if `size` bytes hold it. */
static int take_line(char *text, int room, size_t size)
{
	struct timespec64 at;
	struct line *line;
	int length = 0;

	spin_lock_bh(&lock);
	if (first != next) {
		line = &lines[first & (bufsize - 1)];
		at = ktime_to_timespec64(ktime_sub(line->at, opened));
		length = scnprintf(text, room, "%lu.%09lu %pISpc %pISpc %d %#x %#x %u %u %u %u %u\n",
				   (unsigned long)at.tv_sec, (unsigned long)at.tv_nsec, &line->own, &line->other,
				   line->length, line->snd_nxt, line->snd_una, line->cwnd, line->ssthresh,
				   line->snd_wnd, line->srtt_us, line->rcv_wnd);
		if (length <= size)
			first++;
	}
	spin_unlock_bh(&lock);
	return length;
}

static ssize_t on_proc_read(struct file *file, char __user *to, size_t count, loff_t *at)
{
	size_t done = 0;
	char text[256];
	int length;

	for (;;) {
		length = take_line(text, sizeof(text), count - done);
		if (!length && !done) {
			if (file->f_flags & O_NONBLOCK)
				return -EAGAIN;
			if (wait_event_interruptible(readers, READ_ONCE(first) != READ_ONCE(next)))
				return -ERESTARTSYS;
			continue;
		}
		if (!length || length > count - done)
			return done ?: -EINVAL;
		if (copy_to_user(to + done, text, length))
			return -EFAULT;
		done += length;
	}
}

/* The time starts, and what waited from before is gone. */
static int on_proc_open(struct inode *inode, struct file *file)
{
	spin_lock_bh(&lock);
	first = next;
	opened = ktime_get();
	spin_unlock_bh(&lock);
	return nonseekable_open(inode, file);
}

static const struct proc_ops proc_ops = {
	.proc_open = on_proc_open,
	.proc_read = on_proc_read,
	.proc_lseek = noop_llseek,
};

static int __net_init add_file(struct net *net)
{
	return proc_create("tcpprobe", 0400, net->proc_net, &proc_ops) ? 0 : -ENOMEM;
}

static void __net_exit remove_file(struct net *net)
{
	remove_proc_entry("tcpprobe", net->proc_net);
}

static struct pernet_operations in_each_namespace = {
	.init = add_file,
	.exit = remove_file,
};

static struct tracepoint *point;

static void match_point(struct tracepoint *one, void *unused)
{
	if (!strcmp(one->name, "tcp_probe"))
		point = one;
}

static int __init lh_tcpprobe_init(void)
{
	int error;

	if (!bufsize || bufsize > MOST_LINES)
		return -EINVAL;
	bufsize = roundup_pow_of_two(bufsize);
	lines = vzalloc(array_size(bufsize, sizeof(*lines)));
	if (!lines)
		return -ENOMEM;
	for_each_kernel_tracepoint(match_point, NULL);
	error = register_pernet_subsys(&in_each_namespace);
	if (error)
		goto free;
	error = point ? tracepoint_probe_register(point, on_segment, NULL) : -ENOENT;
	if (!error)
		return 0;
	unregister_pernet_subsys(&in_each_namespace);
free:
	vfree(lines);
	return error;
}

static void __exit lh_tcpprobe_exit(void)
{
	unregister_pernet_subsys(&in_each_namespace);
	tracepoint_probe_unregister(point, on_segment, NULL);
	tracepoint_synchronize_unregister();
	vfree(lines);
}

module_init(lh_tcpprobe_init);
module_exit(lh_tcpprobe_exit);

MODULE_DESCRIPTION("/proc/net/tcpprobe for scripts that plot windows");
MODULE_LICENSE("GPL");
