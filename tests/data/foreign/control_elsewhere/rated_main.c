// SPDX-License-Identifier: GPL-2.0
/* cong_control() has two arguments, and lies in another object. */
#include <linux/module.h>
#include <net/tcp.h>
#include "rated.h"

static u32 rated_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 rated_undo(struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

static struct tcp_congestion_ops rated_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "rated",
	.owner		= THIS_MODULE,
	.init		= rated_init,
	.cong_control	= rated_control,
	.ssthresh	= rated_ssthresh,
	.undo_cwnd	= rated_undo,
};

static int __init rated_load(void)
{
	return tcp_register_congestion_control(&rated_ops);
}

static void __exit rated_unload(void)
{
	tcp_unregister_congestion_control(&rated_ops);
}

module_init(rated_load);
module_exit(rated_unload);
MODULE_LICENSE("Dual BSD/GPL");
