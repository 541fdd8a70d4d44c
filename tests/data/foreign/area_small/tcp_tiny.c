// SPDX-License-Identifier: GPL-2.0
/* Its private area is small, and it is found in many ways. */
#include <linux/module.h>
#include <net/tcp.h>

typedef struct {
	u32 count;
} tiny_t;

static tiny_t *tiny_area(const struct sock *sk)
{
	return (tiny_t *)inet_csk_ca(sk);
}

static void tiny_init(struct sock *sk)
{
	tiny_t *const ca = (tiny_t *)inet_csk_ca(sk), *same = tiny_area(sk);

	ca->count = same == ca;
}

static u32 tiny_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

static void tiny_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops tiny_ops = {
	.ssthresh	= tiny_ssthresh,
	.cong_avoid	= tiny_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.init		= tiny_init,
	.owner		= THIS_MODULE,
	.name		= "tiny",
};

static int __init tiny_load(void)
{
	return tcp_register_congestion_control(&tiny_ops);
}

static void __exit tiny_unload(void)
{
	tcp_unregister_congestion_control(&tiny_ops);
}

module_init(tiny_load);
module_exit(tiny_unload);
MODULE_LICENSE("GPL");
