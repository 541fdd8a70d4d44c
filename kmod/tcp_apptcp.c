// SPDX-License-Identifier: GPL-2.0
/*
 * AppTCP: the application says which rate it needs, and the window keeps it.
 *
 * For streams that must arrive as fast as they are made, such as e-VLBI, over a path that was provisioned for them. The
 * window is not searched for but computed from the required rate R (payload, bytes/s), and a slow loop holds the measured
 * rate there:
 *
 *	cwnd_base = ceil(R * RTT_base / MSS)			the least window that can carry R	(eq. 4)
 *	target    = ceil(R * RTT_now / MSS)			the window that carries R now		(eq. 1)
 *
 *	cwnd <  cwnd_base	slow start, one segment for each segment acknowledged, up to cwnd_base	(eq. 2)
 *	cwnd >= cwnd_base	one segment towards the target every ai_cnt segments acknowledged	(eq. 2, 3)
 *	loss			cwnd = cwnd_base
 *
 *	        cwnd = cwnd_base            RTT_now, R change
 *	 SLOW ------------------> CLOSED <--------------------.
 *	 START <------------------ LOOP  ---------------------'
 *	          timeout, or a larger R
 *
 * The loop moves by 1/ai_cnt of the window a round trip: 10 % with the paper's ai_cnt = 10.
 *
 * Choices where the paper leaves one:
 *  - Its Algorithm 1 prints the loop's sign inverted (a window that is too large would grow). The text below eq. 2 and its
 *    figures 1 and 2 say the opposite; the text is followed.
 *  - Algorithm 1 tests the counter before it is incremented, one step in ai_cnt + 1 segments. The text says ai_cnt.
 *  - cwnd_base is rounded up and so is the target: between the two lies a band of less than a segment where the window
 *    rests. Without it the loop would step below cwnd_base and slow start would step up again, for ever.
 *  - A loss does not lower the load: where R is more than the path has, the window rises until it is lost, again and again.
 *    max_loss_rounds > 0 halves the window as Reno does after that many rounds with loss in a row, until one without.
 *  - Without a required rate (neither socket option nor rate_kbps) the socket is Reno.
 *
 * R comes through SO_MAX_PACING_RATE, which any program can set at any time and `ss -i` shows. Setting it also makes the
 * stack pace at exactly R, which would hide the loop, so that internal pacing is switched off (pacing=0). The fq qdisc
 * paces on its own account: use another one at the sender. R counts payload, pacing counts headers too.
 *
 * "AppTCP: The design and evaluation of application-based TCP for e-VLBI in fast long distance networks."
 */

#include <linux/module.h>
#include <net/tcp.h>

#include "lh_info.h"
#include "lh_param.h"

/* 400 Gbit/s and 16 s: their product, 8e17, and the products below stay inside a u64. */
#define APPTCP_MAX_RATE 50000000000ull
#define APPTCP_MAX_RTT_US 16000000u

/* Neither Reno's nor Linux's least window, but the paper's: one segment a round trip would leave no ACK clock. */
#define APPTCP_MIN_CWND 2u

LH_SOCKET_PARAM(rate, SO_MAX_PACING_RATE, kbit_s, 1, 400000000, "payload rate that this socket requires");
LH_PARAM(rate_kbps, kbit_s, 0, 0, 400000000, "required payload rate of sockets that ask for none; 0: they are Reno");
LH_PARAM(ai_cnt, packets, 10, 1, 1000, "segments acknowledged for each step of the closed loop");
LH_PARAM(rtt_mode, number, 0, 0, 2, "round trip of the loop: 0 latest, 1 smallest since the last step, 2 smoothed");
LH_PARAM(rtt_win_s, s, 0, 0, 3600, "age at which the base round trip is measured again; 0: never");
LH_PARAM(pacing, switch, 0, 0, 1, "leave the stack's pacing at the required rate on");
LH_PARAM(max_loss_rounds, number, 0, 0, 64, "rounds with loss in a row after which to halve as Reno does; 0: never");

struct apptcp {
	u64 rate;		/* R, bytes/s, that cwnd_base belongs to; 0: none */
	u32 rtt_us;		/* latest sample; 0: none yet */
	u32 rtt_base_us;	/* smallest sample; 0: none yet */
	u32 rtt_step_us;	/* smallest sample since the last step; 0: none */
	u32 base_stamp;		/* jiffies32 when rtt_base_us was taken */
	u32 base_from_us;	/* rtt_base_us that cwnd_base belongs to */
	u32 base_from_mss;	/* MSS that cwnd_base belongs to */
	u32 cwnd_base;		/* segments; 0: not known yet */
	u32 acked;		/* segments acknowledged since the last step */
	u32 round_end;		/* sequence number that ends this round */
	u32 round_lost;		/* tp->lost at its beginning */
	u8 loss_rounds;		/* rounds with loss in a row */
	bool backed_off;	/* ssthresh() was called in this round */
};

static u64 apptcp_required_rate(const struct sock *sk)
{
	u64 rate = READ_ONCE(sk->sk_max_pacing_rate);

	if (rate == ~0UL)
		rate = READ_ONCE(rate_kbps) * 125ull;
	return min(rate, APPTCP_MAX_RATE);
}

/* ceil(rate * rtt / MSS): below 8e17 + 6.6e10 before the division. */
static u32 apptcp_window(u64 rate, u32 rtt_us, u32 mss)
{
	u64 segment = (u64)max(mss, 1u) * USEC_PER_SEC;
	u64 window = div64_u64(rate * min(rtt_us, APPTCP_MAX_RTT_US) + segment - 1, segment);

	return clamp_t(u64, window, APPTCP_MIN_CWND, U32_MAX);
}

/* cwnd_base, computed anew only where what it comes from has changed. */
static u32 apptcp_base(struct apptcp *ca, const struct tcp_sock *tp, u64 rate)
{
	u32 mss = tp->mss_cache;

	if (ca->rate != rate || ca->base_from_us != ca->rtt_base_us || ca->base_from_mss != mss) {
		ca->rate = rate;
		ca->base_from_us = ca->rtt_base_us;
		ca->base_from_mss = mss;
		ca->cwnd_base = apptcp_window(rate, ca->rtt_base_us, mss);
	}
	return min(ca->cwnd_base, tp->snd_cwnd_clamp);
}

static u32 apptcp_loop_rtt(const struct apptcp *ca, const struct tcp_sock *tp)
{
	switch (READ_ONCE(rtt_mode)) {
	case 1:
		return ca->rtt_step_us ?: ca->rtt_us;
	case 2:
		return (tp->srtt_us >> 3) ?: ca->rtt_us;
	default:
		return ca->rtt_us;
	}
}

/* The path cannot carry R: too many rounds with loss in a row. */
static bool apptcp_overloaded(const struct apptcp *ca)
{
	u32 limit = READ_ONCE(max_loss_rounds);

	return limit && ca->loss_rounds >= limit;
}

/* One segment towards the target for every ai_cnt segments acknowledged; less than the target needs no full pipe. */
static void apptcp_close_loop(struct sock *sk, u64 rate, u32 acked, bool limited)
{
	struct apptcp *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 every = READ_ONCE(ai_cnt), cwnd = tcp_snd_cwnd(tp), steps, target;

	ca->acked += acked;
	if (ca->acked < every)
		return;
	steps = ca->acked / every;
	ca->acked %= every;
	target = min(apptcp_window(rate, apptcp_loop_rtt(ca, tp), tp->mss_cache), tp->snd_cwnd_clamp);
	ca->rtt_step_us = 0;
	if (cwnd > target)
		tcp_snd_cwnd_set(tp, max(cwnd - min(steps, cwnd - target), APPTCP_MIN_CWND));
	else if (cwnd < target && limited)
		tcp_snd_cwnd_set(tp, cwnd + min(steps, target - cwnd));
}

/* SO_MAX_PACING_RATE may be set at any time, and switches pacing on each time. */
static void apptcp_stop_pacing(struct sock *sk)
{
	if (!READ_ONCE(pacing) && READ_ONCE(sk->sk_pacing_status) == SK_PACING_NEEDED)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NEEDED, SK_PACING_NONE);
}

static void apptcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct apptcp *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = apptcp_required_rate(sk);
	bool limited = tcp_is_cwnd_limited(sk);

	if (!rate || !ca->rtt_us || apptcp_overloaded(ca)) {
		ca->rate = 0;
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	apptcp_stop_pacing(sk);

	/* The stack's threshold follows, so that tcp_in_slow_start() and `ss` say what this law says. */
	tp->snd_ssthresh = apptcp_base(ca, tp, rate);
	if (tcp_in_slow_start(tp)) {
		ca->acked = 0;
		if (limited)
			acked = tcp_slow_start(tp, acked);
		if (!limited || !acked)
			return;
	}
	apptcp_close_loop(sk, rate, acked, limited);
}

static void apptcp_count_rounds(struct apptcp *ca, const struct tcp_sock *tp)
{
	if (before(tp->snd_una, ca->round_end))
		return;
	if (ca->backed_off || tp->lost != ca->round_lost)
		ca->loss_rounds = min(ca->loss_rounds + 1, U8_MAX);
	else
		ca->loss_rounds = 0;
	ca->backed_off = false;
	ca->round_lost = tp->lost;
	ca->round_end = tp->snd_nxt;
}

static void apptcp_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct apptcp *ca = inet_csk_ca(sk);
	u32 window_s = READ_ONCE(rtt_win_s), rtt_us;
	bool stale = window_s && tcp_jiffies32 - ca->base_stamp > window_s * HZ;

	apptcp_count_rounds(ca, tcp_sk(sk));
	if (sample->rtt_us < 0)
		return;
	rtt_us = max(sample->rtt_us, 1);
	ca->rtt_us = rtt_us;
	if (!ca->rtt_step_us || rtt_us < ca->rtt_step_us)
		ca->rtt_step_us = rtt_us;
	if (!ca->rtt_base_us || rtt_us <= ca->rtt_base_us || stale) {
		ca->rtt_base_us = rtt_us;
		ca->base_stamp = tcp_jiffies32;
	}
}

/* No multiplicative decrease: recovery and timeouts lead back to cwnd_base. Marks count as losses. */
static u32 apptcp_ssthresh(struct sock *sk)
{
	struct apptcp *ca = inet_csk_ca(sk);
	u64 rate = apptcp_required_rate(sk);

	ca->backed_off = true;
	if (!rate || !ca->rtt_base_us || apptcp_overloaded(ca))
		return tcp_reno_ssthresh(sk);
	return apptcp_base(ca, tcp_sk(sk), rate);
}

static void apptcp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct apptcp *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		ca->acked = 0;
}

static void apptcp_init(struct sock *sk)
{
	struct apptcp *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	memset(ca, 0, sizeof(*ca));
	ca->base_stamp = tcp_jiffies32;
	ca->round_end = tp->snd_nxt;
	ca->round_lost = tp->lost;
	if (tcp_min_rtt(tp) != ~0U) {
		ca->rtt_us = max(tcp_min_rtt(tp), 1u);
		ca->rtt_base_us = ca->rtt_us;
	}
	if (apptcp_required_rate(sk))
		apptcp_stop_pacing(sk);
}

/* enabled: 0 acting as Reno, 1 slow start, 2 closed loop; rttcnt: cwnd_base; rtt, minrtt: now and base, us. */
static size_t apptcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct apptcp *ca = inet_csk_ca(sk);
	u32 phase = !ca->rate ? 0 : tcp_in_slow_start(tcp_sk(sk)) ? 1 : 2;

	return lh_tell(ext, attr, info, phase, ca->cwnd_base, ca->rtt_us, ca->rtt_base_us);
}

static struct tcp_congestion_ops apptcp __read_mostly = {
	.init = apptcp_init,
	.ssthresh = apptcp_ssthresh,
	.cong_avoid = apptcp_cong_avoid,
	.pkts_acked = apptcp_pkts_acked,
	.cwnd_event = apptcp_cwnd_event,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.get_info = apptcp_get_info,
	.owner = THIS_MODULE,
	.name = "apptcp",
};

static int __init apptcp_register(void)
{
	return tcp_register_congestion_control(&apptcp);
}

static void __exit apptcp_unregister(void)
{
	tcp_unregister_congestion_control(&apptcp);
}

module_init(apptcp_register);
module_exit(apptcp_unregister);

MODULE_DESCRIPTION("AppTCP: keeps the rate that the application requires, on provisioned paths");
MODULE_LICENSE("GPL");
