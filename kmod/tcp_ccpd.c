// SPDX-License-Identifier: GPL-2.0
/*
 * CCPD: CCP with a derivative term, a proportional and derivative controller of the path's storage.
 *
 *	y    = x + F
 *	cwnd = Kp * (B - y) + Kd * (y' - y) / (t - t')		on every ACK, up or down	(eq. 6)
 *
 * B is what the path can hold, x what waits in its queue and F what is in flight: ccp_path.h tells how they are measured
 * and which guards the law needs in a real stack. A loss changes nothing of the window.
 *
 * Fixed point of one flow, with a pipe of D segments and a queue of Q, so that B = D + Q; the derivative vanishes there:
 *
 *	Kp (D + Q) / (1 + Kp) <= D :	W = Kp (D + Q) / (1 + Kp),	x = 0
 *	otherwise		   :	W = Kp (2 D + Q) / (1 + 2 Kp),	x = W - D
 *
 * Choices where the paper leaves one:
 *  - Kd is in microseconds. y changes at most at the path's rate C, so Kd * C bounds the term: at 1 Gbit/s and Kd = 4000,
 *    345 segments, a fifth of the pipe at 20 ms. In nanoseconds it would be nothing, in milliseconds absurd.
 *  - (t', y') lies deriv_us back, by default max(1 ms, RTT_min / 4, 2 Kd / Kp), and the term is kept in between. From one
 *    ACK to the next, 12 us at 1 Gbit/s, one segment of noise would become hundreds. deriv_us = 0 is that literal form.
 *  - The defaults, Kp = 4 and Kd = 2000, are the best or nearly so in the paper at 20 and 200 ms.
 *
 * "On tuning TCP for superior performance on high speed path scenarios" (Kumazoe et al.).
 */

#include <linux/module.h>

#include "ccp_path.h"

LH_PARAM(kp, thousandths, 4000, 0, 64000, "proportional gain");
LH_PARAM(kd, us, 2000, 0, 100000, "derivative gain");
LH_PARAM(deriv_us, us, 1, 0, 10000000, "spacing of the derivative's two ends at least; 0: an ACK, 1: automatic");

/* Automatic spacing: see the head. */
#define CCPD_AUTO 1u
#define CCPD_LEAST_SPACING_US 1000u

struct ccpd {
	struct ccp_path path;
	u64 then_us;		/* t'; 0: none yet */
	s32 then;		/* y', segments */
	s32 derivative;		/* the term as last computed, segments */
};

static u32 ccpd_spacing_us(const struct ccp_path *path)
{
	u32 spacing_us = READ_ONCE(deriv_us), gain = READ_ONCE(kp);
	u32 settled_us;

	if (spacing_us != CCPD_AUTO)
		return spacing_us;
	settled_us = gain ? div_u64(2000ull * READ_ONCE(kd), gain) : 0;
	return max3(CCPD_LEAST_SPACING_US, path->rtt_min_us / 4, settled_us);
}

/* |y' - y| < 2^32 and kd < 2^17: below 2^49. It is bounded by the changes that a path of rate C can cause, and half a window. */
static void ccpd_differentiate(struct ccpd *ca, const struct tcp_sock *tp, s32 now)
{
	u64 elapsed_us = tp->tcp_mstamp - ca->then_us;
	s64 most, change;

	if (ca->then_us) {
		if (!elapsed_us || elapsed_us < ccpd_spacing_us(&ca->path))
			return;
		most = min_t(s64, ccp_segments(&ca->path, READ_ONCE(kd)), tcp_snd_cwnd(tp) / 2);
		change = div64_s64((s64)READ_ONCE(kd) * ((s64)ca->then - now), elapsed_us);
		ca->derivative = clamp_t(s64, change, -most, most);
	}
	ca->then_us = tp->tcp_mstamp;
	ca->then = now;
}

static s64 ccpd_law(struct ccpd *ca, const struct tcp_sock *tp)
{
	s32 occupied = ca->path.backlog + tcp_packets_in_flight(tp);
	s64 demand = (s64)READ_ONCE(kp) * ((s64)ccp_storage(&ca->path) - occupied);

	ccpd_differentiate(ca, tp, occupied);
	return div_s64(demand + 500, 1000) + ca->derivative;
}

static void LH_CONG_CONTROL(ccpd_main)
{
	struct ccpd *ca = inet_csk_ca(sk);

	ccp_update_path(sk, &ca->path, rs);
	if (ca->path.starting && inet_csk(sk)->icsk_ca_state < TCP_CA_CWR)
		ccp_start(sk, &ca->path, rs);
	else
		ccp_set_cwnd(sk, &ca->path, ccpd_law(ca, tcp_sk(sk)), rs);
	ccp_set_pacing(sk, &ca->path);
}

static u32 ccpd_ssthresh(struct sock *sk)
{
	struct ccpd *ca = inet_csk_ca(sk);

	return ccp_leave_start(sk, &ca->path);
}

static u32 ccpd_undo_cwnd(struct sock *sk)
{
	struct ccpd *ca = inet_csk_ca(sk);

	ccp_undo(&ca->path);
	return tcp_reno_undo_cwnd(sk);
}

static void ccpd_set_state(struct sock *sk, u8 state)
{
	struct ccpd *ca = inet_csk_ca(sk);

	ccp_follow_state(sk, &ca->path, state);
	/* What is in flight jumps when losses are marked: that is no trend. */
	if (state >= TCP_CA_Recovery) {
		ca->then_us = 0;
		ca->derivative = 0;
	}
}

static void ccpd_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct ccpd *ca = inet_csk_ca(sk);

	ccp_wake(&ca->path, tcp_sk(sk), event);
}

static void ccpd_init(struct sock *sk)
{
	struct ccpd *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	memset(ca, 0, sizeof(*ca));
	ccp_init_path(sk, &ca->path);
}

static size_t ccpd_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct ccpd *ca = inet_csk_ca(sk);

	return ccp_info(&ca->path, ext, attr, info);
}

static struct tcp_congestion_ops ccpd __read_mostly = {
	.init = ccpd_init,
	.cong_control = ccpd_main,
	.ssthresh = ccpd_ssthresh,
	.set_state = ccpd_set_state,
	.cwnd_event = ccpd_cwnd_event,
	.undo_cwnd = ccpd_undo_cwnd,
	.get_info = ccpd_get_info,
	.owner = THIS_MODULE,
	.name = "ccpd",
};

static int __init ccpd_register(void)
{
	return tcp_register_congestion_control(&ccpd);
}

static void __exit ccpd_unregister(void)
{
	tcp_unregister_congestion_control(&ccpd);
}

module_init(ccpd_register);
module_exit(ccpd_unregister);

MODULE_DESCRIPTION("CCPD: proportional and derivative control of the path's storage, indifferent to loss");
MODULE_LICENSE("GPL");
