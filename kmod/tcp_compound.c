// SPDX-License-Identifier: GPL-2.0
/*
 * Compound TCP: Reno, and beside it a window that grows fast while the queue is short.
 *
 *	win = cwnd + dwnd		what the stack calls the congestion window
 *	diff = win * (1 - RTT_base / RTT)	segments that wait in the queue, from a round's smallest RTT
 *
 *	ACK	     : cwnd += 1 / win				for each segment acknowledged
 *	round, diff <  gamma : dwnd += max(alpha * win^k - 1, 0)
 *	round, diff >= gamma : dwnd  = max(dwnd - eta * diff, 0)
 *	loss	     : win = (1 - beta) win, cwnd = cwnd / 2, dwnd the rest
 *	timeout	     : dwnd = 0
 *
 *	alpha = 1/8, beta = 1/2, k = 3/4, eta = 1, 5 <= gamma <= 30
 *
 * While the queue is short the window gains alpha * win^k segments a round trip, 22 at a window of 1000; once gamma
 * segments wait, dwnd gives back as fast as cwnd grows, so that the window rests; when dwnd is gone this is Reno.
 *
 * gamma follows the queue that Reno alone would build (TUBE): at a loss it moves to 3/4 of Reno's part of diff.
 *
 * Choices where descriptions differ:
 *  - k applies to the whole window, as in the INFOCOM paper; two drafts apply it to dwnd.
 *  - diff uses the smallest round trip of a round with at least three samples, not the smoothed one, which is a round late.
 *  - dwnd grows through the next round instead of in one burst at its beginning (spread=0: at once).
 *  - A new gamma counts gamma_lambda = 0.8; the descriptions disagree whether that is the weight of the new or the old.
 *  - Below low_window = 38 segments dwnd stays as it is. In slow start it is 0.
 *  - Marks (ECN) count as losses.
 *
 * Tan, Song, Zhang, Sridharan: "A Compound TCP approach for high-speed and long distance networks", INFOCOM 2006;
 * draft-sridharan-tcpm-ctcp.
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "lh_increase.h"
#include "lh_info.h"
#include "lh_param.h"

/* Fewer samples do not tell a queue from a delayed ACK. */
#define COMPOUND_LEAST_SAMPLES 3u

#define COMPOUND_MAX_RTT_US 16000000u
#define COMPOUND_MIN_CWND 2u

LH_PARAM(log_alpha, number, 3, 0, 8, "dwnd gains win^(3/4) / 2^log_alpha a round trip");
LH_PARAM(beta, thousandths, 500, 100, 900, "share of the window that is given up at a loss");
LH_PARAM(eta, number, 1, 1, 8, "segments of dwnd that are given up for each that waits");
LH_PARAM(gamma, packets, 30, 1, 1000, "waiting segments from which dwnd falls, before tuning");
LH_PARAM(gamma_low, packets, 5, 1, 1000, "least gamma that tuning sets");
LH_PARAM(gamma_high, packets, 30, 1, 1000, "largest gamma that tuning sets");
LH_PARAM(tune_gamma, switch, 1, 0, 1, "let gamma follow the queue that Reno alone would build");
LH_PARAM(gamma_lambda, thousandths, 800, 0, 1000, "weight of a new gamma against the old one");
LH_PARAM(low_window, packets, 38, 2, 65535, "window from which dwnd grows");
LH_PARAM(spread, switch, 1, 0, 1, "let dwnd grow through a round instead of at its beginning");

struct compound {
	u64 credit;		/* of Reno's part, see lh_increase.h */
	u64 delay_credit;	/* of dwnd */
	u32 dwnd;		/* segments; the rest of the window is Reno's */
	u32 prior_dwnd;		/* before the last reduction, for undo */
	u32 gain;		/* of dwnd in this round, 1/1024 segments */
	u32 window;		/* as this module left it: less means that the stack shrank it */
	u32 base_us;		/* smallest round trip; 0: none yet */
	u32 round_us;		/* smallest of this round; 0: none yet */
	u32 samples;		/* in this round */
	u32 round_end;		/* sequence number that ends this round */
	u32 round_window;	/* window at its beginning */
	u32 round_delivered;	/* tp->delivered at its beginning */
	u32 gamma;		/* segments */
	u32 reno_diff;		/* Reno's part of diff, segments, in the last round with a valid diff */
	bool reno_diff_valid;
};

/* 1 - RTT_base / RTT of a window: below 2^23.1 * 2^24. */
static u32 compound_waiting(const struct compound *ca, u32 window)
{
	return div_u64((u64)window * (ca->round_us - ca->base_us), ca->round_us);
}

/*
 * win^(3/4) / 2^log_alpha - 1, in 1/1024. Both roots carry 10 fraction bits: sqrt(win) < 2^21.6, its root < 2^15.8, their
 * product < 2^37.4. The error is below 0.1 % for windows from 38 to 8.6 million segments.
 */
static u32 compound_gain(u32 window)
{
	u64 root = int_sqrt64((u64)window << 20);
	u64 fourth = int_sqrt64(root << 10);
	u64 gain = (root * fourth >> 10) >> READ_ONCE(log_alpha);

	return gain > LH_RATE_ONE ? gain - LH_RATE_ONE : 0;
}

static void compound_open_round(struct compound *ca, const struct tcp_sock *tp)
{
	ca->round_us = 0;
	ca->samples = 0;
	ca->round_end = tp->snd_nxt;
	ca->round_window = tcp_snd_cwnd(tp);
	ca->round_delivered = tp->delivered;
}

/* The law of dwnd, once a round. `tp->delivered` bounds the window by what really was on its way. */
static void compound_close_round(struct compound *ca, struct tcp_sock *tp)
{
	u32 window = min(ca->round_window, tp->delivered - ca->round_delivered);
	u32 cwnd = tcp_snd_cwnd(tp), waiting;

	ca->gain = 0;
	if (ca->samples < COMPOUND_LEAST_SAMPLES || !ca->base_us)
		return;
	waiting = compound_waiting(ca, window);
	ca->reno_diff = compound_waiting(ca, min(window, cwnd - ca->dwnd));
	ca->reno_diff_valid = true;
	if (waiting < ca->gamma) {
		if (cwnd >= READ_ONCE(low_window))
			ca->gain = compound_gain(cwnd);
	} else {
		u32 less = min_t(u64, ca->dwnd, (u64)waiting * READ_ONCE(eta));

		ca->dwnd -= less;
		tcp_snd_cwnd_set(tp, max(cwnd - less, COMPOUND_MIN_CWND));
	}
}

/* Segments that dwnd gains for this ACK. */
static u32 compound_grow_dwnd(struct compound *ca, u32 cwnd, u32 acked)
{
	u32 gain = ca->gain;

	if (!gain)
		return 0;
	if (READ_ONCE(spread))
		return lh_increase(&ca->delay_credit, cwnd, acked, gain);
	ca->gain = 0;
	ca->delay_credit += gain;
	gain = ca->delay_credit >> LH_RATE_SHIFT;
	ca->delay_credit &= LH_RATE_ONE - 1;
	return gain;
}

/* Something else shrank the window (an idle time, an application that did not use it): both parts share that. */
static void compound_follow_window(struct compound *ca, u32 cwnd)
{
	if (cwnd < ca->window)
		ca->dwnd = div_u64((u64)ca->dwnd * cwnd, ca->window);
	ca->dwnd = min(ca->dwnd, cwnd);
}

static void compound_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct compound *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool limited = tcp_is_cwnd_limited(sk);
	u32 cwnd, more;

	if (tcp_in_slow_start(tp)) {
		ca->dwnd = 0;
		ca->gain = 0;
		if (limited)
			acked = tcp_slow_start(tp, acked);
		if (after(ack, ca->round_end))
			compound_open_round(ca, tp);
		ca->window = tcp_snd_cwnd(tp);
		if (!limited || !acked)
			return;
	}
	compound_follow_window(ca, tcp_snd_cwnd(tp));
	if (after(ack, ca->round_end)) {
		compound_close_round(ca, tp);
		compound_open_round(ca, tp);
	}
	if (limited) {
		cwnd = tcp_snd_cwnd(tp);
		more = compound_grow_dwnd(ca, cwnd, acked);
		more = min(more, tp->snd_cwnd_clamp - min(cwnd, tp->snd_cwnd_clamp));
		ca->dwnd += more;
		cwnd += more + lh_increase(&ca->credit, cwnd, acked, LH_RATE_ONE);
		tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	}
	ca->window = tcp_snd_cwnd(tp);
}

static void compound_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct compound *ca = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = clamp_t(u32, sample->rtt_us, 1, COMPOUND_MAX_RTT_US);
	if (!ca->base_us || rtt_us < ca->base_us)
		ca->base_us = rtt_us;
	if (!ca->round_us || rtt_us < ca->round_us)
		ca->round_us = rtt_us;
	ca->samples++;
}

static void compound_tune_gamma(struct compound *ca)
{
	u32 weight = READ_ONCE(gamma_lambda), low = READ_ONCE(gamma_low), high = READ_ONCE(gamma_high);
	u64 wanted;

	if (!READ_ONCE(tune_gamma) || !ca->reno_diff_valid)
		return;
	wanted = (u64)ca->reno_diff * 3 / 4;
	wanted = div_u64(wanted * weight + (u64)ca->gamma * (1000 - weight), 1000);
	/* The two bounds are set apart from each other: the upper one wins. */
	ca->gamma = min_t(u64, max_t(u64, wanted, low), high);
	ca->reno_diff_valid = false;
}

static u32 compound_ssthresh(struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);
	u32 win = tcp_snd_cwnd(tcp_sk(sk));
	u32 kept = div_u64((u64)win * (1000 - READ_ONCE(beta)), 1000), reno;

	compound_follow_window(ca, win);
	compound_tune_gamma(ca);
	kept = max(kept, COMPOUND_MIN_CWND);
	reno = max((win - ca->dwnd) / 2, COMPOUND_MIN_CWND);
	ca->prior_dwnd = ca->dwnd;
	ca->dwnd = kept > reno ? kept - reno : 0;
	ca->window = kept;
	ca->gain = 0;
	ca->credit = 0;
	ca->delay_credit = 0;
	return kept;
}

static u32 compound_undo_cwnd(struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);

	ca->dwnd = max(ca->dwnd, ca->prior_dwnd);
	ca->window = tcp_reno_undo_cwnd(sk);
	return ca->window;
}

static void compound_set_state(struct sock *sk, u8 state)
{
	struct compound *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (state == TCP_CA_Loss) {
		ca->dwnd = 0;
		ca->gamma = READ_ONCE(gamma);
		ca->reno_diff_valid = false;
		if (tp->srtt_us)
			ca->base_us = clamp(tp->srtt_us >> 3, 1u, COMPOUND_MAX_RTT_US);
	}
	/* A round with a recovery in it tells nothing about the queue. */
	if (state >= TCP_CA_CWR || inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		compound_open_round(ca, tp);
}

static void compound_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct compound *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART) {
		ca->dwnd = 0;
		ca->gain = 0;
		compound_open_round(ca, tcp_sk(sk));
	}
}

static void compound_init(struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	memset(ca, 0, sizeof(*ca));
	ca->gamma = READ_ONCE(gamma);
	if (tcp_min_rtt(tp) != ~0U)
		ca->base_us = clamp(tcp_min_rtt(tp), 1u, COMPOUND_MAX_RTT_US);
	compound_open_round(ca, tp);
}

/* enabled: gamma, 0 in slow start; rttcnt: dwnd; rtt, minrtt: smallest of the connection and of this round, us. */
static size_t compound_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct compound *ca = inet_csk_ca(sk);
	u32 gamma_now = tcp_in_slow_start(tcp_sk(sk)) ? 0 : ca->gamma;

	return lh_tell(ext, attr, info, gamma_now, ca->dwnd, ca->base_us, ca->round_us);
}

static struct tcp_congestion_ops compound __read_mostly = {
	.init = compound_init,
	.ssthresh = compound_ssthresh,
	.cong_avoid = compound_cong_avoid,
	.pkts_acked = compound_pkts_acked,
	.set_state = compound_set_state,
	.cwnd_event = compound_cwnd_event,
	.undo_cwnd = compound_undo_cwnd,
	.get_info = compound_get_info,
	.owner = THIS_MODULE,
	.name = "compound",
};

static int __init compound_register(void)
{
	return tcp_register_congestion_control(&compound);
}

static void __exit compound_unregister(void)
{
	tcp_unregister_congestion_control(&compound);
}

module_init(compound_register);
module_exit(compound_unregister);

MODULE_DESCRIPTION("Compound TCP: Reno, and beside it a window that grows while the queue is short");
MODULE_LICENSE("GPL");
