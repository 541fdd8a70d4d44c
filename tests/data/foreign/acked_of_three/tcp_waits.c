// SPDX-License-Identifier: GPL-2.0
/* pkts_acked() has the three arguments of Linux until 4.6. */
#include <linux/module.h>
#include <net/tcp.h>

struct waits {
	u32 base_us;
	u32 last_us;
};

static void waits_init(struct sock *sk)
{
	struct waits *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	ca->base_us = ~0U;
	ca->last_us = 0;
}

static void waits_acked(struct sock *sk, u32 cnt, s32 rtt)
{
	struct waits *ca = inet_csk_ca(sk);

	if (rtt <= 0 || !cnt)
		return;
	ca->last_us = rtt;
	ca->base_us = min(ca->base_us, ca->last_us);
}

/* The window grows only while packets wait for less than a quarter of the path's delay. */
static void waits_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct waits *ca = inet_csk_ca(sk);

	if (ca->last_us < ca->base_us + ca->base_us / 4)
		tcp_reno_cong_avoid(sk, ack, acked);
}

static struct tcp_congestion_ops waits_ops = {
	.init		= waits_init,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= waits_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.pkts_acked	= waits_acked,
	.owner		= THIS_MODULE,
	.name		= "waits",
};

static int __init waits_load(void)
{
	return tcp_register_congestion_control(&waits_ops);
}

static void __exit waits_unload(void)
{
	tcp_unregister_congestion_control(&waits_ops);
}

module_init(waits_load);
module_exit(waits_unload);
MODULE_LICENSE("GPL v2");
