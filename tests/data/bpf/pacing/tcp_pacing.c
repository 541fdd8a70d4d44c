// SPDX-License-Identifier: GPL-2.0
/* pacing.bpf.c as a module in the kernel's own words. */
#include <linux/module.h>
#include <net/tcp.h>

struct pacing {
	u64 samples[4];
	u32 next;
};

static void pacing_init(struct sock *sk)
{
	memset(inet_csk_ca(sk), 0, sizeof(struct pacing));
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

static void pacing_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct pacing *seen = inet_csk_ca(sk);
	u64 most;

	if (sample->rtt_us <= 0)
		return;
	seen->samples[seen->next++ & 3] = (u64)sample->in_flight * tcp_sk(sk)->mss_cache * USEC_PER_SEC / (u32)sample->rtt_us;
	most = max(max(seen->samples[0], seen->samples[1]), max(seen->samples[2], seen->samples[3]));
	if (seen->next > 16)
		sk->sk_pacing_rate = (most * 15 >> 4) + 100000;
}

static struct tcp_congestion_ops pacing = {
	.init = pacing_init,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.pkts_acked = pacing_pkts_acked,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "pacing",
};

static int __init pacing_register(void)
{
	return tcp_register_congestion_control(&pacing);
}

static void __exit pacing_unregister(void)
{
	tcp_unregister_congestion_control(&pacing);
}

module_init(pacing_register);
module_exit(pacing_unregister);
MODULE_LICENSE("GPL");
