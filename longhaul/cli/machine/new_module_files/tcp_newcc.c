// SPDX-License-Identifier: GPL-2.0
/*
 * newcc: additive increase, multiplicative decrease, with both numbers to choose. A place to begin: change the law.
 *
 *	an ACK     cwnd += add / cwnd for each segment acknowledged      slow start below ssthresh, as the stack has it
 *	a loss     ssthresh = beta * cwnd
 *
 * With add 1 and beta 0.5 it is Reno.
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "lh_increase.h"
#include "lh_info.h"
#include "lh_param.h"

LH_PARAM(add, thousandths, 1000, 1, 100000, "segments that a window gains in a round trip");
LH_PARAM(beta, thousandths, 500, 100, 950, "what a loss leaves of the window");

/* What a connection remembers; the kernel keeps ICSK_CA_PRIV_SIZE bytes for it. */
struct newcc {
	u64 credit;
	u32 losses;
};

static void newcc_init(struct sock *sk)
{
	struct newcc *ca = inet_csk_ca(sk);

	ca->credit = 0;
	ca->losses = 0;
}

/* Every ACK that brings something new, outside recovery. */
static void newcc_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct newcc *ca = inet_csk_ca(sk);
	u32 rate = (u64)READ_ONCE(add) * LH_RATE_ONE / 1000;
	u32 cwnd;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cwnd = tcp_snd_cwnd(tp);
	cwnd += lh_increase(&ca->credit, cwnd, acked, rate);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

/* A loss, once a round trip: the window to continue with. */
static u32 newcc_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct newcc *ca = inet_csk_ca(sk);

	ca->credit = 0;
	ca->losses++;
	return max_t(u32, (u64)tcp_snd_cwnd(tp) * READ_ONCE(beta) / 1000, 2);
}

/* What `ss -ti` and the state records of a run show: here the number of losses as word 1. */
static size_t newcc_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct newcc *ca = inet_csk_ca(sk);

	return lh_tell(ext, attr, info, 1, ca->losses, 0, 0);
}

static struct tcp_congestion_ops newcc_ops __read_mostly = {
	.init = newcc_init,
	.cong_avoid = newcc_cong_avoid,
	.ssthresh = newcc_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.get_info = newcc_get_info,
	.owner = THIS_MODULE,
	.name = "newcc",
};

static int __init newcc_register(void)
{
	BUILD_BUG_ON(sizeof(struct newcc) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&newcc_ops);
}

static void __exit newcc_unregister(void)
{
	tcp_unregister_congestion_control(&newcc_ops);
}

module_init(newcc_register);
module_exit(newcc_unregister);

MODULE_DESCRIPTION("additive increase, multiplicative decrease, with both numbers to choose");
MODULE_LICENSE("GPL");
