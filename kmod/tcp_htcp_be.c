// SPDX-License-Identifier: GPL-2.0
/*
 * HTCP-BE: H-TCP's increase, and back to the estimated bandwidth at a loss.
 *
 * For e-VLBI streams over shared paths: H-TCP grows fast where the last congestion lies long ago, but halves its window as
 * soon as the bandwidth it gets has changed. Here the decrease is Westwood's instead, with the average round trip where
 * Westwood has the smallest, so that the window keeps part of the queue:
 *
 *	alpha = 1						D <= delta_l
 *	      = 1 + 10 (D - delta_l) + ((D - delta_l) / 2)^2	otherwise, D in seconds since the last congestion (eq. 12)
 *	ACK   : cwnd += alpha / cwnd	for each segment acknowledged						  (eq. 17)
 *	loss  : cwnd  = B * RTT_avg / MSS								  (eq. 18)
 *
 * B is Westwood+'s estimate: the segments delivered in a round trip (or in bw_win_min_ms, whichever is longer), through two
 * low passes that each keep 7/8 of the past.
 *
 * Choices where the paper leaves one:
 *  - RTT_avg is not defined. 0: the mean since the last congestion event, the plain meaning of the word; 1: the stack's
 *    smoothed one; 2: half way between the smallest and the largest, which drains half of the queue in every epoch. On a
 *    full path the mean creeps towards the largest round trip from epoch to epoch and the window hardly falls, so beta_cap
 *    bounds what is kept; mode 2 is the better neighbour on shared paths.
 *  - H-TCP scales alpha with 2 (1 - beta), and Linux scales it with the round trip. The paper's equation has neither:
 *    beta_scale and rtt_scaling are off.
 *  - D counts from the congestion event itself. Linux's H-TCP counts from the end of the recovery.
 *  - "Not reducing at all in periods of low packet loss" is its outlook: with spared_ppm a loss leaves the window and D alone
 *    as long as the segments lost since the last reduction are no larger a part of those sent. Off by default.
 *  - Marks (ECN) count as losses. An undone reduction gives the old D back.
 *  - A window of samples that the application left partly idle may raise B but not lower it.
 *
 * "e-VLBI data transport over long-distance networks: HTCP with bandwidth estimation (HTCP-BE)."
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "lh_increase.h"
#include "lh_info.h"
#include "lh_param.h"

/*
 * A longest D of 1000 s gives an alpha of 2.6e5, 2.7e8 in 1/1024: a u32 holds it.
 * A B of 1.25e10 bytes/s (100 Gbit/s) times 16 s is 2e17, times 1e6 us is not needed: u64.
 */
#define HTCP_BE_MAX_DELTA_MS 1000000u
#define HTCP_BE_MAX_RTT_US 16000000u

/* Sums of samples are halved together with their number before either could overflow. */
#define HTCP_BE_MAX_SAMPLES 1000000000u

/* One window of samples says nothing about a bandwidth that changes. */
#define HTCP_BE_LEAST_WINDOWS 2u

#define HTCP_BE_MIN_CWND 2u

LH_PARAM(delta_l_ms, ms, 1000, 0, 60000, "time after congestion in which to grow as Reno does");
LH_PARAM(rtt_avg_mode, number, 0, 0, 2, "average round trip: 0 mean of the epoch, 1 smoothed, 2 midpoint");
LH_PARAM(beta_cap, thousandths, 950, 500, 1000, "most of the window that is kept at a loss");
LH_PARAM(beta_floor, thousandths, 0, 0, 900, "least of the window that is kept at a loss");
LH_PARAM(spared_ppm, number, 0, 0, 100000, "losses in a million segments up to which the window is kept");
LH_PARAM(beta_scale, switch, 0, 0, 1, "scale the increase with 2 (1 - beta)");
LH_PARAM(rtt_scaling, switch, 0, 0, 1, "scale the increase with the round trip, as Linux's H-TCP does");
LH_PARAM(bw_win_min_ms, ms, 50, 1, 1000, "shortest window of a bandwidth sample");
LH_PARAM(alpha_max, packets, 65535, 1, 65535, "largest increase a round trip");

struct htcp_be {
	u64 event_us;		/* time of the last congestion event */
	u64 prior_event_us;	/* the one before, for undo */
	u64 window_us;		/* beginning of the bandwidth window */
	u64 bw_once;		/* bandwidth behind the first low pass, bytes/s */
	u64 bw;			/* B: behind both, bytes/s */
	u64 rtt_sum_us;		/* of the epoch's samples */
	u64 credit;		/* of the increase, see lh_increase.h */
	u32 rtt_count;		/* of the epoch's samples */
	u32 rtt_us;		/* latest sample; 0: none yet */
	u32 rtt_min_us;		/* of the connection; 0: none yet */
	u32 rtt_max_us;		/* fades towards rtt_min_us at each congestion event */
	u32 prior_mean_us;	/* mean of the epoch before, for undo */
	u32 prior_max_us;	/* rtt_max_us before it faded, for undo */
	u32 window_delivered;	/* tp->delivered at the beginning of the bandwidth window */
	u32 alpha;		/* 1/1024 segments a round trip, as last used */
	u32 reduced_lost;	/* tp->lost at the last reduction */
	u32 reduced_delivered;	/* tp->delivered then */
	u16 kept;		/* window after the last event, in thousandths of that before; 0: none yet */
	u8 windows;		/* bandwidth windows so far, up to HTCP_BE_LEAST_WINDOWS */
	bool spared;		/* whether the last loss left the window alone */
};

static u32 htcp_be_alpha(const struct htcp_be *ca, const struct tcp_sock *tp)
{
	u64 delta_ms = div_u64(tp->tcp_mstamp - ca->event_us, USEC_PER_MSEC);
	u32 quiet_ms = READ_ONCE(delta_l_ms);
	u64 alpha = LH_RATE_ONE;

	if (delta_ms > quiet_ms) {
		u64 late_ms = min_t(u64, delta_ms, HTCP_BE_MAX_DELTA_MS) - quiet_ms;

		/* 10 a second, and (late / 2 s)^2: at most 2.6e11 before the divisions. */
		alpha += div_u64(10 * late_ms * LH_RATE_ONE, MSEC_PER_SEC);
		alpha += div_u64(late_ms * late_ms * (LH_RATE_ONE / 4), USEC_PER_SEC);
	}
	if (READ_ONCE(rtt_scaling) && ca->rtt_min_us)
		alpha = div_u64(alpha * clamp(ca->rtt_min_us, 10000u, 200000u), 100000);
	if (READ_ONCE(beta_scale) && ca->kept)
		alpha = div_u64(alpha * 2 * (1000 - clamp_t(u32, ca->kept, 500, 999)), 1000);
	return clamp_t(u64, alpha, LH_RATE_ONE, (u64)READ_ONCE(alpha_max) << LH_RATE_SHIFT);
}

static void htcp_be_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct htcp_be *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd;

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	ca->alpha = htcp_be_alpha(ca, tp);
	cwnd = tcp_snd_cwnd(tp);
	cwnd += lh_increase(&ca->credit, cwnd, acked, ca->alpha);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

static void htcp_be_open_window(struct htcp_be *ca, const struct tcp_sock *tp)
{
	ca->window_us = tp->tcp_mstamp;
	ca->window_delivered = tp->delivered;
}

static u64 htcp_be_low_pass(u64 past, u64 now)
{
	return past - (past >> 3) + (now >> 3);
}

/* delivered counts a segment once, whether it was acknowledged cumulatively or selectively. */
static void htcp_be_measure(struct htcp_be *ca, const struct tcp_sock *tp)
{
	u64 elapsed_us = tp->tcp_mstamp - ca->window_us, bytes, sample;

	if (elapsed_us < max(ca->rtt_us, READ_ONCE(bw_win_min_ms) * (u32)USEC_PER_MSEC))
		return;
	/* 1 s at 100 Gbit/s: 1.25e10 bytes, 1.25e16 before the division. */
	bytes = (u64)(tp->delivered - ca->window_delivered) * tp->mss_cache;
	sample = div64_u64(bytes * USEC_PER_SEC, elapsed_us);
	if (!ca->windows) {
		ca->bw_once = sample;
		ca->bw = sample;
	} else if (sample >= ca->bw || !tp->app_limited) {
		ca->bw_once = htcp_be_low_pass(ca->bw_once, sample);
		ca->bw = htcp_be_low_pass(ca->bw, ca->bw_once);
	}
	ca->windows = min(ca->windows + 1u, HTCP_BE_LEAST_WINDOWS);
	htcp_be_open_window(ca, tp);
}

static void htcp_be_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct htcp_be *ca = inet_csk_ca(sk);
	u32 rtt_us;

	htcp_be_measure(ca, tcp_sk(sk));
	if (sample->rtt_us < 0)
		return;
	rtt_us = clamp_t(u32, sample->rtt_us, 1, HTCP_BE_MAX_RTT_US);
	ca->rtt_us = rtt_us;
	if (!ca->rtt_min_us || rtt_us < ca->rtt_min_us)
		ca->rtt_min_us = rtt_us;
	ca->rtt_max_us = max(ca->rtt_max_us, rtt_us);
	ca->rtt_sum_us += rtt_us;
	if (++ca->rtt_count >= HTCP_BE_MAX_SAMPLES) {
		ca->rtt_sum_us >>= 1;
		ca->rtt_count >>= 1;
	}
}

static u32 htcp_be_average_us(const struct htcp_be *ca, const struct tcp_sock *tp)
{
	switch (READ_ONCE(rtt_avg_mode)) {
	case 1:
		return min(tp->srtt_us >> 3, HTCP_BE_MAX_RTT_US);
	case 2:
		return ca->rtt_min_us + (ca->rtt_max_us - ca->rtt_min_us) / 2;
	default:
		return ca->rtt_count ? div64_u64(ca->rtt_sum_us, ca->rtt_count) : ca->rtt_us;
	}
}

/* Whether so few were lost since the last reduction that the window stays. */
static bool htcp_be_spares(const struct htcp_be *ca, const struct tcp_sock *tp)
{
	u32 lost = max(tp->lost - ca->reduced_lost, 1u);
	u32 sent = tp->delivered - ca->reduced_delivered + lost;

	return lost * 1000000ull <= sent * (u64)READ_ONCE(spared_ppm);
}

/* cwnd := B * RTT_avg, within what beta_cap and beta_floor allow. */
static u32 htcp_be_ssthresh(struct sock *sk)
{
	struct htcp_be *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), average_us = htcp_be_average_us(ca, tp);
	u32 most = div_u64((u64)cwnd * READ_ONCE(beta_cap), 1000);
	u32 least = div_u64((u64)cwnd * READ_ONCE(beta_floor), 1000);
	u64 window = cwnd / 2;

	ca->spared = htcp_be_spares(ca, tp);
	if (ca->spared)
		return max(cwnd, HTCP_BE_MIN_CWND);
	ca->reduced_lost = tp->lost;
	ca->reduced_delivered = tp->delivered;
	if (ca->windows >= HTCP_BE_LEAST_WINDOWS && average_us)
		window = div64_u64(ca->bw * average_us, max(tp->mss_cache, 1u) * (u64)USEC_PER_SEC);
	window = max_t(u64, min_t(u64, max_t(u64, window, least), most), HTCP_BE_MIN_CWND);

	ca->prior_event_us = ca->event_us;
	ca->prior_mean_us = average_us;
	ca->prior_max_us = ca->rtt_max_us;
	ca->event_us = tp->tcp_mstamp;
	ca->kept = min_t(u64, div_u64(window * 1000, max(cwnd, 1u)), 1000);
	ca->rtt_max_us = ca->rtt_min_us + div_u64((u64)(ca->rtt_max_us - ca->rtt_min_us) * 95, 100);
	ca->rtt_sum_us = 0;
	ca->rtt_count = 0;
	ca->credit = 0;
	return window;
}

/* The loss was none: the epoch continues where it was. */
static u32 htcp_be_undo_cwnd(struct sock *sk)
{
	struct htcp_be *ca = inet_csk_ca(sk);

	if (ca->spared)
		return tcp_reno_undo_cwnd(sk);
	ca->event_us = ca->prior_event_us;
	ca->rtt_max_us = max(ca->rtt_max_us, ca->prior_max_us);
	if (!ca->rtt_count) {
		ca->rtt_sum_us = ca->prior_mean_us;
		ca->rtt_count = 1;
	}
	return tcp_reno_undo_cwnd(sk);
}

static void htcp_be_set_state(struct sock *sk, u8 state)
{
	/* Nothing was delivered while the timer ran: no bandwidth sample. */
	if (state == TCP_CA_Loss)
		htcp_be_open_window(inet_csk_ca(sk), tcp_sk(sk));
}

static void htcp_be_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		htcp_be_open_window(inet_csk_ca(sk), tcp_sk(sk));
}

static void htcp_be_init(struct sock *sk)
{
	struct htcp_be *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	memset(ca, 0, sizeof(*ca));
	ca->event_us = tp->tcp_mstamp;
	ca->prior_event_us = tp->tcp_mstamp;
	ca->alpha = LH_RATE_ONE;
	ca->reduced_lost = tp->lost;
	ca->reduced_delivered = tp->delivered;
	htcp_be_open_window(ca, tp);
	if (tcp_min_rtt(tp) != ~0U) {
		ca->rtt_min_us = clamp(tcp_min_rtt(tp), 1u, HTCP_BE_MAX_RTT_US);
		ca->rtt_max_us = ca->rtt_min_us;
		ca->rtt_us = ca->rtt_min_us;
	}
}

/* enabled: B in kbit/s; rttcnt: alpha, whole segments; rtt: RTT_avg, us; minrtt: smallest, us. */
static size_t htcp_be_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct htcp_be *ca = inet_csk_ca(sk);
	u32 kbps = min_t(u64, div_u64(ca->bw, 125), U32_MAX), alpha = ca->alpha >> LH_RATE_SHIFT;

	return lh_tell(ext, attr, info, kbps, alpha, htcp_be_average_us(ca, tcp_sk(sk)), ca->rtt_min_us);
}

static struct tcp_congestion_ops htcp_be __read_mostly = {
	.init = htcp_be_init,
	.ssthresh = htcp_be_ssthresh,
	.cong_avoid = htcp_be_cong_avoid,
	.pkts_acked = htcp_be_pkts_acked,
	.set_state = htcp_be_set_state,
	.cwnd_event = htcp_be_cwnd_event,
	.undo_cwnd = htcp_be_undo_cwnd,
	.get_info = htcp_be_get_info,
	.owner = THIS_MODULE,
	.name = "htcp_be",
};

static int __init htcp_be_register(void)
{
	return tcp_register_congestion_control(&htcp_be);
}

static void __exit htcp_be_unregister(void)
{
	tcp_unregister_congestion_control(&htcp_be);
}

module_init(htcp_be_register);
module_exit(htcp_be_unregister);

MODULE_DESCRIPTION("HTCP-BE: H-TCP's increase, and back to the estimated bandwidth at a loss");
MODULE_LICENSE("GPL");
