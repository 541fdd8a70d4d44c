// SPDX-License-Identifier: GPL-2.0
/* Times have the structure of Linux until 4.12. */
#include <linux/module.h>
#include <net/tcp.h>

struct stamps {
	struct skb_mstamp cut;
};

static void stamps_init(struct sock *sk)
{
	struct stamps *ca = inet_csk_ca(sk);

	ca->cut.v64 = 0;
}

/* Once in 100 ms at most. */
static u32 stamps_share(struct sock *sk)
{
	struct stamps *ca = inet_csk_ca(sk);
	struct skb_mstamp now;

	skb_mstamp_get(&now);
	if (skb_mstamp_us_delta(&now, &ca->cut) < 100 * USEC_PER_MSEC)
		return 9;
	ca->cut = now;
	return 7;
}

static u32 stamps_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * stamps_share(sk) / 10, 2U);
}

static void stamps_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops stamps_ops = {
	.ssthresh	= stamps_ssthresh,
	.cong_avoid	= stamps_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.init		= stamps_init,
	.owner		= THIS_MODULE,
	.name		= "stamps",
};

static int __init stamps_load(void)
{
	return tcp_register_congestion_control(&stamps_ops);
}

static void __exit stamps_unload(void)
{
	tcp_unregister_congestion_control(&stamps_ops);
}

module_init(stamps_load);
module_exit(stamps_unload);
MODULE_LICENSE("GPL");
