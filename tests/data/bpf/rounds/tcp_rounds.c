// SPDX-License-Identifier: GPL-2.0
/* rounds.bpf.c as a module in the kernel's own words. */
#include <linux/module.h>
#include <linux/random.h>
#include <net/tcp.h>

struct rounds {
	u32 end;
	u32 delivered;
	u32 target;
	u32 draws;
};

static void rounds_init(struct sock *sk)
{
	struct rounds *r = inet_csk_ca(sk);

	memset(r, 0, sizeof(*r));
	r->end = tcp_sk(sk)->snd_nxt;
	r->delivered = tcp_sk(sk)->delivered;
	r->target = 64;
}

static void rounds_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rounds *r = inet_csk_ca(sk);

	if (!before(ack, r->end)) {
		u32 delivered = tp->delivered - r->delivered;

		r->draws = (r->draws ^ get_random_u32()) & 7;
		r->target = delivered + delivered / 4 + 4 + r->draws;
		if (rs->losses > 0)
			r->target -= r->target / 8;
		r->delivered = tp->delivered;
		r->end = tp->snd_nxt;
	}
	tp->snd_cwnd = min(r->target, tp->snd_cwnd_clamp);
}

static u32 rounds_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 rounds_undo_cwnd(struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

static struct tcp_congestion_ops rounds = {
	.init = rounds_init,
	.ssthresh = rounds_ssthresh,
	.cong_control = rounds_main,
	.undo_cwnd = rounds_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "rounds",
};

static int __init rounds_register(void)
{
	return tcp_register_congestion_control(&rounds);
}

static void __exit rounds_unregister(void)
{
	tcp_unregister_congestion_control(&rounds);
}

module_init(rounds_register);
module_exit(rounds_unregister);
MODULE_LICENSE("GPL");
