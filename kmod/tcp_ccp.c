// SPDX-License-Identifier: GPL-2.0
/*
 * CCP: Capacity and Congestion Probing, a proportional controller of the path's storage.
 *
 *	cwnd = (Kp * (B - x) - F) / 2		on every ACK, up or down	(eq. 5)
 *
 * B is what the path can hold, x what waits in its queue and F what is in flight: ccp_path.h tells how they are measured
 * and which guards the law needs in a real stack. A loss changes nothing of the window.
 *
 * Fixed point of one flow, with a pipe of D segments and a queue of Q, so that B = D + Q:
 *
 *	Kp (D + Q) / 3 <= D :	W = Kp (D + Q) / 3,		x = 0
 *	otherwise	    :	W = Kp (2 D + Q) / (Kp + 3),	x = W - D
 *
 * Kp = 1 leaves most of the path empty, Kp = 2 is the paper's middle. Kp = 4 does not settle while there is a queue, which
 * is seen a round trip late: the paper's "dampened oscillation".
 *
 * Published descriptions give no estimators. B = C * RTT_max is inferred: with a B of the queue alone the published rates
 * on a path of 600 ms could not be reached.
 *
 * "On tuning TCP for superior performance on high speed path scenarios" (Kumazoe et al.), after Cavendish et al.
 */

#include <linux/module.h>

#include "ccp_path.h"

LH_PARAM(kp, thousandths, 2000, 0, 64000, "proportional gain");

static s64 ccp_law(const struct ccp_path *path, u32 flight)
{
	s64 demand = (s64)READ_ONCE(kp) * ((s64)ccp_storage(path) - path->backlog);

	return div_s64(demand - 1000 * (s64)flight + 1000, 2000);
}

static void LH_CONG_CONTROL(ccp_main)
{
	struct ccp_path *path = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	ccp_update_path(sk, path, rs);
	if (path->starting && inet_csk(sk)->icsk_ca_state < TCP_CA_CWR)
		ccp_start(sk, path, rs);
	else
		ccp_set_cwnd(sk, path, ccp_law(path, tcp_packets_in_flight(tp)), rs);
	ccp_set_pacing(sk, path);
}

static u32 ccp_ssthresh(struct sock *sk)
{
	return ccp_leave_start(sk, inet_csk_ca(sk));
}

static u32 ccp_undo_cwnd(struct sock *sk)
{
	ccp_undo(inet_csk_ca(sk));
	return tcp_reno_undo_cwnd(sk);
}

static void ccp_set_state(struct sock *sk, u8 state)
{
	ccp_follow_state(sk, inet_csk_ca(sk), state);
}

static void ccp_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	ccp_wake(inet_csk_ca(sk), tcp_sk(sk), event);
}

static void ccp_init(struct sock *sk)
{
	struct ccp_path *path = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*path) > ICSK_CA_PRIV_SIZE);
	memset(path, 0, sizeof(*path));
	ccp_init_path(sk, path);
}

static size_t ccp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	return ccp_info(inet_csk_ca(sk), ext, attr, info);
}

static struct tcp_congestion_ops ccp __read_mostly = {
	.init = ccp_init,
	.cong_control = ccp_main,
	.ssthresh = ccp_ssthresh,
	.set_state = ccp_set_state,
	.cwnd_event = ccp_cwnd_event,
	.undo_cwnd = ccp_undo_cwnd,
	.get_info = ccp_get_info,
	.owner = THIS_MODULE,
	.name = "ccp",
};

static int __init ccp_register(void)
{
	return tcp_register_congestion_control(&ccp);
}

static void __exit ccp_unregister(void)
{
	tcp_unregister_congestion_control(&ccp);
}

module_init(ccp_register);
module_exit(ccp_unregister);

MODULE_DESCRIPTION("CCP: proportional control of the path's storage, indifferent to loss");
MODULE_LICENSE("GPL");
