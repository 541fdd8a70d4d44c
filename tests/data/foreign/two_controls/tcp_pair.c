// SPDX-License-Identifier: GPL-2.0
/* One module registers two controls. */
#include <linux/module.h>
#include <net/tcp.h>

static u32 pair_half(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

static u32 pair_most(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd * 9 / 10, 2U);
}

static struct tcp_congestion_ops pair_ops[] = {
	{
		.ssthresh = pair_half,
		.cong_avoid = tcp_reno_cong_avoid,
		.undo_cwnd = tcp_reno_undo_cwnd,
		.owner = THIS_MODULE,
		.name = "pair_half",
	},
	{
		.ssthresh = pair_most,
		.cong_avoid = tcp_reno_cong_avoid,
		.undo_cwnd = tcp_reno_undo_cwnd,
		.owner = THIS_MODULE,
		.name = "pair_most",
	},
};

static int __init pair_load(void)
{
	int error = tcp_register_congestion_control(&pair_ops[0]);

	if (error)
		return error;
	error = tcp_register_congestion_control(&pair_ops[1]);
	if (error)
		tcp_unregister_congestion_control(&pair_ops[0]);
	return error;
}

static void __exit pair_unload(void)
{
	tcp_unregister_congestion_control(&pair_ops[1]);
	tcp_unregister_congestion_control(&pair_ops[0]);
}

module_init(pair_load);
module_exit(pair_unload);
MODULE_LICENSE("GPL");
