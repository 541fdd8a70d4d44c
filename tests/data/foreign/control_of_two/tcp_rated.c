// SPDX-License-Identifier: GPL-2.0
/* cong_control() has the two arguments of Linux 4.9 to 6.9. */
#include <linux/module.h>
#include <net/tcp.h>

struct rated {
	u32 rounds;
	u32 next_delivered;
};

static void rated_init(struct sock *sk)
{
	struct rated *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(struct rated) > ICSK_CA_PRIV_SIZE);
	ca->rounds = 0;
	ca->next_delivered = tcp_sk(sk)->delivered;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

/* The window follows the rate of delivery, and probes one round of eight. */
static void rated_control(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rated *ca = inet_csk_ca(sk);
	u64 window;

	if (rs->delivered <= 0 || rs->interval_us <= 0)
		return;
	if (!before(rs->prior_delivered, ca->next_delivered)) {
		ca->next_delivered = tp->delivered;
		ca->rounds++;
	}
	window = (u64)rs->delivered * tcp_min_rtt(tp);
	do_div(window, rs->interval_us);
	if (!rs->losses)
		window += window >> (ca->rounds % 8 ? 3 : 1);
	tp->snd_cwnd = clamp_t(u32, window, 10, tp->snd_cwnd_clamp);
	WRITE_ONCE(sk->sk_pacing_rate, (u64)tp->snd_cwnd * tp->mss_cache * USEC_PER_SEC / max(tcp_min_rtt(tp), 1U));
}

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
