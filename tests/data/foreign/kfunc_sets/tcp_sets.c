// SPDX-License-Identifier: GPL-2.0
/* Its functions are offered to BPF, by the macros of Linux 6.0 to 6.8. */
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>

__bpf_kfunc static u32 sets_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

__bpf_kfunc static void sets_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

static struct tcp_congestion_ops sets_ops = {
	.ssthresh	= sets_ssthresh,
	.cong_avoid	= sets_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "sets",
};

BTF_SET8_START(sets_check_ids)
BTF_ID_FLAGS(func, sets_ssthresh)
BTF_ID_FLAGS(func, sets_avoid)
BTF_SET8_END(sets_check_ids)

static const struct btf_kfunc_id_set sets_kfuncs = {
	.owner	= THIS_MODULE,
	.set	= &sets_check_ids,
};

static int __init sets_load(void)
{
	int error = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &sets_kfuncs);

	if (error < 0)
		return error;
	return tcp_register_congestion_control(&sets_ops);
}

static void __exit sets_unload(void)
{
	tcp_unregister_congestion_control(&sets_ops);
}

module_init(sets_load);
module_exit(sets_unload);
MODULE_LICENSE("GPL");
