// SPDX-License-Identifier: GPL-2.0
/* A table of sysctl with an empty row at its end, and files in /proc with file_operations. */
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sysctl.h>

static int knobs_share = 7;

static struct ctl_table knobs_table[] = {
	{
		.procname	= "share",
		.data		= &knobs_share,
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec,
	},
	{ }
};

static struct ctl_table_header *knobs_header;

static int knobs_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%d %p\n", knobs_share, file->private);
	return 0;
}

static int knobs_open(struct inode *inode, struct file *file)
{
	return single_open(file, knobs_show, NULL);
}

static const struct file_operations knobs_files = {
	.owner		= THIS_MODULE,
	.open		= knobs_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static u32 knobs_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * knobs_share / 10, 2U);
}

static void knobs_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops knobs_ops = {
	.ssthresh	= knobs_ssthresh,
	.cong_avoid	= knobs_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "knobs",
};

static int __init knobs_load(void)
{
	knobs_header = register_net_sysctl(&init_net, "net/ipv4/knobs", knobs_table);
	if (!knobs_header || !proc_create("knobs", 0444, NULL, &knobs_files) ||
	    !proc_create_data("knobs_too", 0444, init_net.proc_net, &knobs_files, &knobs_share))
		return -ENOMEM;
	return tcp_register_congestion_control(&knobs_ops);
}

static void __exit knobs_unload(void)
{
	tcp_unregister_congestion_control(&knobs_ops);
	unregister_net_sysctl_table(knobs_header);
	remove_proc_entry("knobs", NULL);
	remove_proc_entry("knobs_too", init_net.proc_net);
}

module_init(knobs_load);
module_exit(knobs_unload);
MODULE_LICENSE("GPL");
