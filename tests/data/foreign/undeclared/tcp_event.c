// SPDX-License-Identifier: GPL-2.0
/* It uses a constant that Linux had until 4.19. */
#include <linux/module.h>
#include <net/tcp.h>

static void event_seen(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_DELAYED_ACK)
		tcp_sk(sk)->snd_cwnd_cnt = 0;
}

static u32 event_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void event_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops event_ops = {
	.ssthresh	= event_ssthresh,
	.cong_avoid	= event_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cwnd_event	= event_seen,
	.owner		= THIS_MODULE,
	.name		= "event",
};

static int __init event_load(void)
{
	return tcp_register_congestion_control(&event_ops);
}

static void __exit event_unload(void)
{
	tcp_unregister_congestion_control(&event_ops);
}

module_init(event_load);
module_exit(event_unload);
MODULE_LICENSE("GPL");
