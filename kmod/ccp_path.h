/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What CCP and CCPD know of a path, and the guards that both laws need in a real stack.
 *
 * Both laws steer the window by the storage of the path and what of it is occupied:
 *
 *	B = C * RTT_max			storage: pipe and buffer, segments
 *	x = C * (RTT_now - RTT_min)	backlog: what waits in the queue, segments
 *	F				segments in flight after this ACK
 *
 *	START --- first loss or mark, or ssthresh --->  LAW
 *	  ^						|
 *	  `------------------ timeout ------------------'
 *
 * START is slow start; it learns C and RTT_max. In LAW every ACK sets the window, up or down, and a loss changes nothing
 * of it. Without the following the raw laws do not survive their own first round trip:
 *
 *  - growth_limit: the window is at most F plus two segments for each that was delivered, the pace of slow start. From
 *    F = 0 the law would ask for more than the path holds, at once.
 *  - In Recovery at most one segment for each delivered. After a timeout slow start, up to half of the storage.
 *  - C is the largest rate of the connection at which ACKs came, over a round trip or (cap_mode=1) over trains of an eighth
 *    of one: where the buffer is small, the bursts of slow start are lost before they have filled a whole round trip. A
 *    train whose round trip has shrunk was pressed together on its way back and does not count. A short memory would
 *    shrink C whenever the law leaves the path partly empty, and with it B, and with it the window, down to nothing. A
 *    timeout halves C and starts anew, with slow start up to half of the storage: the path may be another one. Without a
 *    threshold slow start would overshoot as it did the first time, and end in a timeout again, for ever. Where the queue is
 *    below an eighth of the pipe there is no threshold: C was learnt from bursts, and only slow start finds a larger one.
 *  - RTT_max is the largest of the connection, and of two ACKs in a row the smaller counts, for x too: a receiver holds
 *    single ACKs back for up to 40 ms, and the kernel's own mark (is_ack_delayed) misses those of whole segments. A loss
 *    from a full queue (RTT beyond the middle) sets RTT_max to the largest of the last round, which may be less. A loss with
 *    a short queue is random and says nothing about the storage.
 *  - loss_guard: more than 3 % lost in four rounds in a row means that RTT_max is beyond what the queue holds: half way
 *    down. Off is the paper.
 *  - ECE is not a loss: for the round of CWR the window is at most 0.8 of what it was (RFC 8511 keeps 0.8 too).
 *
 * C in segments/us << 24: 100 Gbit/s of 1448-byte segments are 8.63, 1.5e8; times the largest round trip that is accepted,
 * 16 s, 2.4e15: a u64 holds it. kp <= 64000 times B <= 1.4e8 segments is 8.9e12.
 */
#ifndef CCP_PATH_H
#define CCP_PATH_H

#include <net/tcp.h>

#include "lh_info.h"
#include "lh_param.h"

#define CCP_RATE_SHIFT 24
#define CCP_MAX_RTT_US 16000000u
#define CCP_MIN_CWND 2u

/* Fewer segments make no rate: the spacing of single ACKs is that of the hosts. */
#define CCP_LEAST_DELIVERED 8
#define CCP_LEAST_TRAIN 16u

/* loss_guard: lost / sent in a round, per cent, and rounds in a row. */
#define CCP_GUARD_LOSS_PCT 3u
#define CCP_GUARD_ROUNDS 4u

/* A queue below this part of the pipe says nothing of the capacity. */
#define CCP_SHORT_QUEUE 8u

/* After so long an idle time the queue that RTT_max knew may be another's. */
#define CCP_IDLE_S 10u

LH_PARAM(storage, number, 0, 0, 1, "storage of the path: 0 C * RTT_max, 1 its buffer and pipe_pct of its pipe");
LH_PARAM(pipe_pct, number, 100, 0, 200, "with storage=1: share of the pipe that counts, per cent");
LH_PARAM(cap_mode, number, 1, 0, 1, "capacity: 0 from whole round trips, 1 from trains of ACKs too");
LH_PARAM(cap_win_s, s, 0, 0, 3600, "age at which the capacity is measured again; 0: never");
LH_PARAM(rtt_win_s, s, 0, 0, 3600, "age at which the smallest round trip is measured again; 0: never");
LH_PARAM(growth_limit, switch, 1, 0, 1, "grow no faster than slow start");
LH_PARAM(loss_guard, switch, 1, 0, 1, "give up half of the queue after four rounds with more than 3 % loss");

struct ccp_path {
	u64 capacity;		/* C, segments/us << 24; 0: not known yet */
	u32 capacity_stamp;	/* jiffies32 when it was measured */
	u32 prior_capacity;	/* before the last timeout, for undo; capped to 32 bits */
	u32 train_us;		/* time of the ACK that began this train, low 32 bits */
	u32 train_delivered;	/* tp->delivered after it */
	u32 train_rtt_us;	/* its round trip; 0: no train */
	u32 rtt_min_us;		/* 0: none yet */
	u32 rtt_min_stamp;	/* jiffies32 when it was measured */
	u32 rtt_max_us;		/* 0: none yet */
	u32 last_rtt_us;	/* of the ACK before; 0: none */
	u32 round_max_us;	/* largest of this round; 0: none */
	u32 last_max_us;	/* largest of the round before */
	u32 backlog;		/* x, segments */
	u32 round_delivered;	/* tp->delivered that ends this round */
	u32 round_began;	/* tp->delivered at its beginning */
	u32 round_lost;		/* tp->lost at its beginning */
	u32 mark_cap;		/* largest window in this CWR */
	u8 lossy_rounds;	/* rounds with too much loss, in a row */
	u8 starting:1,		/* START */
	   prior_starting:1;	/* before the last loss, for undo */
};

static u32 ccp_segments(const struct ccp_path *path, u32 rtt_us)
{
	return min_t(u64, (path->capacity * min(rtt_us, CCP_MAX_RTT_US)) >> CCP_RATE_SHIFT, S32_MAX);
}

/* B */
static u32 ccp_storage(const struct ccp_path *path)
{
	u64 pipe_us;

	if (!READ_ONCE(storage))
		return ccp_segments(path, path->rtt_max_us);
	pipe_us = div_u64((u64)path->rtt_min_us * READ_ONCE(pipe_pct), 100);
	return ccp_segments(path, path->rtt_max_us - path->rtt_min_us + pipe_us);
}

static bool ccp_stale(u32 stamp, u32 window_s)
{
	return window_s && tcp_jiffies32 - stamp > window_s * HZ;
}

static void ccp_learn_capacity(struct ccp_path *path, u32 delivered, u32 interval_us)
{
	u64 rate = div_u64((u64)delivered << CCP_RATE_SHIFT, interval_us);

	if (rate >= path->capacity || ccp_stale(path->capacity_stamp, READ_ONCE(cap_win_s))) {
		path->capacity = rate;
		path->capacity_stamp = tcp_jiffies32;
	}
}

static void ccp_begin_train(struct ccp_path *path, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	path->train_us = tp->tcp_mstamp;
	path->train_delivered = tp->delivered;
	path->train_rtt_us = max(rs->rtt_us, 0L);
}

static void ccp_follow_train(struct ccp_path *path, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	u32 delivered = tp->delivered - path->train_delivered;
	u32 elapsed_us = (u32)tp->tcp_mstamp - path->train_us;

	if (!path->train_rtt_us || elapsed_us > path->rtt_min_us || rs->rtt_us < path->train_rtt_us) {
		ccp_begin_train(path, tp, rs);
		return;
	}
	if (delivered < CCP_LEAST_TRAIN || !elapsed_us || elapsed_us < path->rtt_min_us / 8)
		return;
	ccp_learn_capacity(path, delivered, elapsed_us);
	ccp_begin_train(path, tp, rs);
}

static void ccp_update_capacity(struct ccp_path *path, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	if (rs->is_app_limited)
		path->train_rtt_us = 0;
	else if (READ_ONCE(cap_mode))
		ccp_follow_train(path, tp, rs);
	if (rs->delivered >= CCP_LEAST_DELIVERED && rs->interval_us > 0 && !rs->is_app_limited &&
	    rs->interval_us >= path->rtt_min_us)
		ccp_learn_capacity(path, rs->delivered, rs->interval_us);
}

/* In recovery the receiver holds ACKs back for up to a millisecond: such a round trip says nothing of the queue's length. */
static void ccp_update_rtt(struct ccp_path *path, const struct rate_sample *rs, bool recovering)
{
	u32 rtt_us, queued_us;

	if (rs->rtt_us < 0)
		return;
	rtt_us = clamp_t(u32, rs->rtt_us, 1, CCP_MAX_RTT_US);
	queued_us = min(rtt_us, path->last_rtt_us ?: rtt_us);
	path->last_rtt_us = rtt_us;
	if (!path->rtt_min_us || rtt_us <= path->rtt_min_us ||
	    ccp_stale(path->rtt_min_stamp, READ_ONCE(rtt_win_s))) {
		path->rtt_min_us = rtt_us;
		path->rtt_min_stamp = tcp_jiffies32;
		path->rtt_max_us = max(path->rtt_max_us, rtt_us);
	}
	/* A queue lasts for more than one ACK; the receiver's delay of one does not. And nothing waits in one for seconds. */
	if (rs->is_ack_delayed || queued_us > 8 * path->rtt_min_us + USEC_PER_SEC)
		return;
	queued_us = max(queued_us, path->rtt_min_us);
	path->backlog = ccp_segments(path, queued_us - path->rtt_min_us);
	if (recovering)
		return;
	path->round_max_us = max(path->round_max_us, queued_us);
	path->rtt_max_us = max(path->rtt_max_us, queued_us);
}

static void ccp_guard_loss(struct ccp_path *path, u32 delivered, u32 lost)
{
	if ((u64)lost * 100 <= (u64)(delivered + lost) * CCP_GUARD_LOSS_PCT) {
		path->lossy_rounds = 0;
		return;
	}
	if (++path->lossy_rounds < CCP_GUARD_ROUNDS)
		return;
	path->lossy_rounds = 0;
	if (READ_ONCE(loss_guard))
		path->rtt_max_us -= (path->rtt_max_us - path->rtt_min_us) / 2;
}

static void ccp_update_round(struct ccp_path *path, const struct tcp_sock *tp, const struct rate_sample *rs)
{
	if (before(rs->prior_delivered, path->round_delivered))
		return;
	ccp_guard_loss(path, tp->delivered - path->round_began, tp->lost - path->round_lost);
	path->last_max_us = path->round_max_us;
	path->round_max_us = 0;
	path->round_delivered = tp->delivered;
	path->round_began = tp->delivered;
	path->round_lost = tp->lost;
}

/* What this ACK tells about the path. */
static void ccp_update_path(struct sock *sk, struct ccp_path *path, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (rs->delivered > 0)
		ccp_update_round(path, tp, rs);
	ccp_update_capacity(path, tp, rs);
	ccp_update_rtt(path, rs, inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery);
}

/* The law's window within the guards. */
static void ccp_set_cwnd(struct sock *sk, const struct ccp_path *path, s64 law, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp), delivered = rs->acked_sacked;
	s64 cwnd = min_t(s64, law, ccp_storage(path));

	switch (inet_csk(sk)->icsk_ca_state) {
	case TCP_CA_Loss:
		cwnd = min_t(s64, cwnd, ccp_storage(path) / 2);
		cwnd = min_t(s64, cwnd, tcp_snd_cwnd(tp) + delivered);
		break;
	case TCP_CA_Recovery:
		cwnd = min_t(s64, cwnd, flight + max(delivered, 1u));
		break;
	case TCP_CA_CWR:
		cwnd = min_t(s64, cwnd, path->mark_cap);
		fallthrough;
	default:
		if (READ_ONCE(growth_limit))
			cwnd = min_t(s64, cwnd, (s64)flight + 2 * delivered);
	}
	cwnd = max_t(s64, cwnd, CCP_MIN_CWND);
	tcp_snd_cwnd_set(tp, min_t(s64, cwnd, tp->snd_cwnd_clamp));
}

/* START: slow start, until a loss, a mark or a threshold that the route gave. */
static void ccp_start(struct sock *sk, struct ccp_path *path, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_cwnd_limited(sk) && rs->acked_sacked > 0)
		tcp_slow_start(tp, rs->acked_sacked);
	if (!tcp_in_slow_start(tp))
		path->starting = 0;
}

/* cong_control modules set what paces TSO bursts and, where fq does, the flow: twice the window's rate, later 1.25 times. */
static void ccp_set_pacing(struct sock *sk, const struct ccp_path *path)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = (tp->srtt_us >> 3) ?: path->rtt_min_us;
	/* 8.6e6 segments * 9000 bytes * 1e6 us: 7.8e16. */
	u64 rate = (u64)tcp_snd_cwnd(tp) * tp->mss_cache * USEC_PER_SEC;

	if (!rtt_us)
		return;
	rate = div_u64(rate, rtt_us);
	rate = path->starting ? 2 * rate : rate + rate / 4;
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* Whatever the cause, the law continues from the window as it is. */
static u32 ccp_leave_start(struct sock *sk, struct ccp_path *path)
{
	u32 seen_us = max(path->round_max_us, path->last_max_us);

	if (seen_us > path->rtt_min_us + (path->rtt_max_us - path->rtt_min_us) / 2)
		path->rtt_max_us = seen_us;
	path->prior_starting = path->starting;
	path->starting = 0;
	return max(tcp_snd_cwnd(tcp_sk(sk)), CCP_MIN_CWND);
}

/*
 * Where slow start ends after a timeout: at half of the storage. Where the timeout met START itself, as an outage does, nothing
 * is known of the storage yet; and behind a short queue slow start's bursts are lost before they fill the pipe, so that C may be
 * a small part of the truth.
 */
static u32 ccp_restart_threshold(const struct sock *sk, const struct ccp_path *path)
{
	bool in_start = inet_csk(sk)->icsk_ca_state < TCP_CA_CWR && path->prior_starting;
	bool short_queue = path->rtt_max_us - path->rtt_min_us < path->rtt_min_us / CCP_SHORT_QUEUE;

	if (in_start || short_queue || !path->capacity)
		return TCP_INFINITE_SSTHRESH;
	return max(ccp_storage(path) / 2, CCP_LEAST_TRAIN);
}

static void ccp_follow_state(struct sock *sk, struct ccp_path *path, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (state == TCP_CA_CWR) {
		path->mark_cap = max(tcp_snd_cwnd(tp) * 4 / 5, CCP_MIN_CWND);
	} else if (state == TCP_CA_Loss && inet_csk(sk)->icsk_ca_state != TCP_CA_Loss) {
		path->prior_capacity = min_t(u64, path->capacity, U32_MAX);
		tp->snd_ssthresh = ccp_restart_threshold(sk, path);
		path->capacity /= 2;
		path->starting = 1;
	}
}

/* The loss was none: what it made us forget is true again. */
static void ccp_undo(struct ccp_path *path)
{
	path->capacity = max_t(u64, path->capacity, path->prior_capacity);
	path->starting = path->prior_starting;
}

static void ccp_wake(struct ccp_path *path, const struct tcp_sock *tp, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START && tcp_jiffies32 - tp->lsndtime > CCP_IDLE_S * HZ && path->round_max_us)
		path->rtt_max_us = max(path->round_max_us, path->rtt_min_us);
}

static void ccp_init_path(struct sock *sk, struct ccp_path *path)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	path->starting = 1;
	path->round_delivered = tp->delivered;
	path->round_began = tp->delivered;
	path->round_lost = tp->lost;
	path->capacity_stamp = tcp_jiffies32;
	path->rtt_min_stamp = tcp_jiffies32;
	if (tcp_min_rtt(tp) != ~0U) {
		path->rtt_min_us = clamp(tcp_min_rtt(tp), 1u, CCP_MAX_RTT_US);
		path->rtt_max_us = path->rtt_min_us;
	}
}

/* enabled: 1 START, 2 LAW; rttcnt: x; rtt, minrtt: RTT_max and RTT_min, us. */
static size_t ccp_info(const struct ccp_path *path, u32 ext, int *attr, union tcp_cc_info *info)
{
	return lh_tell(ext, attr, info, path->starting ? 1 : 2, path->backlog, path->rtt_max_us, path->rtt_min_us);
}

#endif
