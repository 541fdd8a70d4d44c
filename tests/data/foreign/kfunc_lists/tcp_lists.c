// SPDX-License-Identifier: GPL-2.0
/* Its functions are offered to BPF, by the macros of Linux 6.9. */
#include <linux/module.h>
#include <net/tcp.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>

__bpf_kfunc_start_defs();

__bpf_kfunc static u32 lists_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tp->snd_cwnd * 3 / 4, 2U);
}

__bpf_kfunc static void lists_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, 1 * acked);
}

__bpf_kfunc_end_defs();

static struct tcp_congestion_ops lists_ops = {
	.ssthresh	= lists_ssthresh,
	.cong_avoid	= lists_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "lists",
};

BTF_KFUNCS_START(lists_check_ids)
BTF_ID_FLAGS(func, lists_ssthresh)
BTF_ID_FLAGS(func, lists_avoid)
BTF_KFUNCS_END(lists_check_ids)

static const struct btf_kfunc_id_set lists_kfuncs = {
	.owner	= THIS_MODULE,
	.set	= &lists_check_ids,
};

static int __init lists_load(void)
{
	int error = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &lists_kfuncs);

	if (error < 0)
		return error;
	return tcp_register_congestion_control(&lists_ops);
}

static void __exit lists_unload(void)
{
	tcp_unregister_congestion_control(&lists_ops);
}

module_init(lists_load);
module_exit(lists_unload);
MODULE_LICENSE("GPL");
