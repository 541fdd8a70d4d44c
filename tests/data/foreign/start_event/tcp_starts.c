// SPDX-License-Identifier: GPL-2.0
/* The first packet after a pause is an event, as until Linux 7.0. */
#include <linux/module.h>
#include <net/tcp.h>

static void starts_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_TX_START)
		tp->snd_cwnd = min(tp->snd_cwnd, 5U);
	else if (event == CA_EVENT_LOSS)
		tp->snd_ssthresh = max(tp->snd_ssthresh, 5U);
}

static u32 starts_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void starts_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops starts_ops = {
	.ssthresh	= starts_ssthresh,
	.cong_avoid	= starts_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cwnd_event	= starts_event,
	.owner		= THIS_MODULE,
	.name		= "starts",
};

static int __init starts_load(void)
{
	return tcp_register_congestion_control(&starts_ops);
}

static void __exit starts_unload(void)
{
	tcp_unregister_congestion_control(&starts_ops);
}

module_init(starts_load);
module_exit(starts_unload);
MODULE_LICENSE("GPL");
