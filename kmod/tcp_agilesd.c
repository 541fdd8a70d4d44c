// SPDX-License-Identifier: GPL-2.0
/*
 * Agile-SD: for fast and short paths with small buffers.
 *
 * The window falls only a little at a loss and comes back quickly, the faster the further it is from where the loss was:
 *
 *	gap_total   = cwnd_loss - cwnd_degraded							(eq. 2)
 *	gap_current = cwnd_loss - cwnd,	0 beyond cwnd_loss					(eq. 3)
 *	lambda      = lambda_max * gap_current / gap_total, from lambda_min = 1 to lambda_max	(eq. 1)
 *	ACK	    : cwnd += lambda / cwnd	for each segment acknowledged
 *	loss	    : cwnd = cwnd_degraded = 0.90 cwnd in slow start, 0.95 cwnd later
 *
 *	  cwnd
 *	   |		 cwnd_loss
 *	   |  - - - - - - -.- -,--x- - -	lambda_min: probing, one segment a round trip
 *	   |	        ,-'	  |   ,-
 *	   |	    ,-'		  | ,'
 *	   |	  ,'		  |/		lambda_max: after a loss
 *	   |  - -/- - - - - - - - - - -	cwnd_degraded
 *
 * An epoch takes RTT * sum(1/lambda) (eq. 6): with lambda = 4, 3, 2, 1 and 20 ms that is 41.66 ms, where Reno needs 80 ms.
 *
 * Choices where the paper leaves one:
 *  - lambda_max = 3, which the author's module uses with this pair of decreases. That module has 0.90 for both stages; the
 *    paper's 0.90 and 0.95 are used here. With lambda_max = 1 and both decreases 0.5 this is Reno, segment for segment.
 *  - The threshold is cwnd_degraded itself. One segment less, as NS-2 wants it to leave slow start, would only cost that
 *    segment: Linux is out of slow start where the window equals the threshold.
 *  - cwnd_loss is the window of the last loss, not the largest ever: that would keep lambda high for ever once the path
 *    has become slower.
 *  - After a timeout the window restarts at one segment as Linux has it, not at the initial window.
 *  - Marks (ECN) count as losses. An undone reduction gives the epoch before back.
 *
 * "Agile-SD: A Linux-based TCP congestion control algorithm for supporting high-speed and short-distance networks."
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "lh_increase.h"
#include "lh_info.h"
#include "lh_param.h"

#define AGILESD_MIN_CWND 2u

LH_PARAM(lambda_max, thousandths, 3000, 1000, 16000, "segments a round trip right after a loss");
LH_PARAM(beta_ss, thousandths, 900, 500, 999, "window kept at a loss in slow start");
LH_PARAM(beta_ca, thousandths, 950, 500, 999, "window kept at a later loss");

struct agilesd {
	u64 credit;		/* of the increase, see lh_increase.h */
	u32 loss_cwnd;		/* window at the last loss, segments; 0: none yet */
	u32 degraded_cwnd;	/* window after it */
	u32 prior_loss_cwnd;	/* the same of the loss before, for undo */
	u32 prior_degraded_cwnd;
	u32 lambda;		/* 1/1024 segments a round trip, as last used */
	u32 lambda_cwnd;	/* window it was computed for */
};

/* lambda_max < 2^14 in 1/1024 and gaps below 2^23.1: products below 2^38. */
static u32 agilesd_lambda(const struct agilesd *ca, u32 cwnd)
{
	u32 fastest = READ_ONCE(lambda_max) * LH_RATE_ONE / 1000;
	u32 gap_total = ca->loss_cwnd - ca->degraded_cwnd;
	u64 lambda;

	/* Nothing lost yet, or probing beyond the last loss. */
	if (cwnd >= ca->loss_cwnd || !gap_total)
		return LH_RATE_ONE;
	lambda = div_u64((u64)fastest * (ca->loss_cwnd - cwnd), gap_total);
	return clamp_t(u64, lambda, LH_RATE_ONE, fastest);
}

static void agilesd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct agilesd *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cwnd = tcp_snd_cwnd(tp);
	if (ca->lambda_cwnd != cwnd) {
		ca->lambda = agilesd_lambda(ca, cwnd);
		ca->lambda_cwnd = cwnd;
	}
	cwnd += lh_increase(&ca->credit, cwnd, acked, ca->lambda);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

static u32 agilesd_ssthresh(struct sock *sk)
{
	struct agilesd *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 kept = tcp_in_slow_start(tp) ? READ_ONCE(beta_ss) : READ_ONCE(beta_ca);

	ca->prior_loss_cwnd = ca->loss_cwnd;
	ca->prior_degraded_cwnd = ca->degraded_cwnd;
	ca->loss_cwnd = cwnd;
	ca->degraded_cwnd = div_u64((u64)cwnd * kept, 1000);
	ca->lambda_cwnd = 0;
	ca->credit = 0;
	return max(ca->degraded_cwnd, AGILESD_MIN_CWND);
}

/* The loss was none: lambda continues from the epoch before. */
static u32 agilesd_undo_cwnd(struct sock *sk)
{
	struct agilesd *ca = inet_csk_ca(sk);

	ca->loss_cwnd = ca->prior_loss_cwnd;
	ca->degraded_cwnd = ca->prior_degraded_cwnd;
	ca->lambda_cwnd = 0;
	return tcp_reno_undo_cwnd(sk);
}

static void agilesd_init(struct sock *sk)
{
	struct agilesd *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	memset(ca, 0, sizeof(*ca));
}

/* enabled: 1 after slow start; rttcnt: lambda, thousandths; rtt: cwnd_loss; minrtt: cwnd_degraded. */
static size_t agilesd_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct agilesd *ca = inet_csk_ca(sk);
	u32 lambda = div_u64((u64)ca->lambda * 1000, LH_RATE_ONE);

	return lh_tell(ext, attr, info, !tcp_in_slow_start(tcp_sk(sk)), lambda, ca->loss_cwnd, ca->degraded_cwnd);
}

static struct tcp_congestion_ops agilesd __read_mostly = {
	.init = agilesd_init,
	.ssthresh = agilesd_ssthresh,
	.cong_avoid = agilesd_cong_avoid,
	.undo_cwnd = agilesd_undo_cwnd,
	.get_info = agilesd_get_info,
	.owner = THIS_MODULE,
	.name = "agilesd",
};

static int __init agilesd_register(void)
{
	return tcp_register_congestion_control(&agilesd);
}

static void __exit agilesd_unregister(void)
{
	tcp_unregister_congestion_control(&agilesd);
}

module_init(agilesd_register);
module_exit(agilesd_unregister);

MODULE_DESCRIPTION("Agile-SD: small decrease and quick return, for fast short paths with small buffers");
MODULE_LICENSE("GPL");
