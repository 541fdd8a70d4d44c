// SPDX-License-Identifier: GPL-2.0
/*
 * lh_programs: the TCP connections of programs that know nothing of the laboratory, marked and counted inside the guest kernel.
 *
 *	inet_sock_set_state   LISTEN                    -> the program of a side is ready
 *	                      SYN_SENT                  -> a connection of a flow: it gets a slot, its socket gets that slot's mark
 *	                      SYN_RECV -> ESTABLISHED   -> the other end of one, found by addresses and ports, gets its mark
 *	                      later states              -> the end of what an end sends or receives; its counts at CLOSE
 *
 * A program is recognised by its mount namespace, which it has in common with all that it starts. The mark is what lh_trace
 * counts by, and it counts one connection at a time with each mark: so a flow has as many slots as connections at once, and one
 * connection more is an error of the run. A slot is free as soon as its last connection can no longer change what lh_trace
 * counts; until then the mark of a receiver stays, and at its end lh_trace is shown it once more, so that nothing is missing.
 *
 * The agent (orchestrator/agent/traffic/program_sockets.c) writes commands to /proc/lh_programs and reads the counts there. The
 * module is loaded by runs with flows of programs alone.
 */

#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "lh_trace.h"
#include "proc_line.h"
#include "tcp_ends.h"

#define LH_PROGRAM_FLOWS 256
/* As many pairs of ports of a flow are listed; more are counted. */
#define LH_LISTED_PORTS 1024

enum role { LH_SENDER, LH_RECEIVER, LH_ROLES };
enum side { LH_SERVER, LH_CLIENT, LH_SIDES };

/* What all connections of a slot have counted that are closed, and in a reading the others too. */
struct counts {
	u64 sent, received, sent_packets, received_packets, again, delivered, marks;
	u64 busy, window_limited, buffer_limited; /* jiffies */
	u64 unseen; /* bytes sent after the peer had closed its half, when the probe sees no ACK */
	u64 backward; /* bytes against the direction that is measured */
	u32 least_rtt_us, mss;
	bool ecn;
	char cc[TCP_CA_NAME_MAX];
};

struct ports {
	u16 sender, receiver;
};

struct slot {
	struct counts counts;
	u32 connections;
	struct ports *ports;
};

struct program_flow {
	u32 id, slot_count; /* its slots are the flows id, id + 1, ... of the plan */
	bool server_sends;
	const void *mounts[LH_SIDES];	 /* compared, never followed */
	const struct net *nets[LH_SIDES];
	u32 listening;
	u32 most, elsewhere;
	struct slot *slots;
};

/* The kernel tells of CLOSE before it frees a socket, so these pointers are good. */
struct connection {
	struct list_head list;
	struct program_flow *flow;
	struct slot *slot;
	struct sock *ends[LH_ROLES];
	bool open[LH_ROLES]; /* lh_trace may still count by its mark */
	enum role opener;
	bool joined;
	u64 sent_before; /* the peer closed its half; U64_MAX: it has not */
};

static struct program_flow *flows[LH_PROGRAM_FLOWS];
static unsigned int nr_flows;
static LIST_HEAD(connections);
static DEFINE_SPINLOCK(lock); /* all of the above */
static DECLARE_WAIT_QUEUE_HEAD(joined);
static struct tracepoint *set_state, *space_adjust;

/* ---- counts ---- */

static u64 chrono(const struct tcp_sock *tp, enum tcp_chrono type)
{
	return tp->chrono_stat[type - 1] + (tp->chrono_type == type ? tcp_jiffies32 - tp->chrono_start : 0);
}

static void add_sender(struct counts *counts, const struct connection *connection, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	counts->sent += sent_bytes(sk);
	counts->backward += received_bytes(sk);
	counts->sent_packets += tp->data_segs_out;
	counts->again += tp->total_retrans;
	counts->delivered += tp->delivered;
	counts->marks += tp->delivered_ce;
	counts->window_limited += chrono(tp, TCP_CHRONO_RWND_LIMITED);
	counts->buffer_limited += chrono(tp, TCP_CHRONO_SNDBUF_LIMITED);
	counts->busy += chrono(tp, TCP_CHRONO_BUSY) + chrono(tp, TCP_CHRONO_RWND_LIMITED) +
			chrono(tp, TCP_CHRONO_SNDBUF_LIMITED);
	counts->least_rtt_us = min(counts->least_rtt_us, tcp_min_rtt(tp));
	counts->mss = tp->mss_cache;
	counts->ecn = tp->ecn_flags & TCP_ECN_OK;
	if (connection->sent_before != U64_MAX)
		counts->unseen += sent_bytes(sk) - connection->sent_before;
	strscpy(counts->cc, inet_csk(sk)->icsk_ca_ops->name, sizeof(counts->cc));
}

static void add_receiver(struct counts *counts, const struct sock *sk)
{
	counts->received += received_bytes(sk);
	counts->received_packets += tcp_sk(sk)->data_segs_in;
}

static void add_end(struct counts *counts, const struct connection *connection, enum role role)
{
	if (role == LH_SENDER)
		add_sender(counts, connection, connection->ends[role]);
	else
		add_receiver(counts, connection->ends[role]);
}

/* ---- connections ---- */

static struct program_flow *find_flow(const void *mounts, enum side *side)
{
	unsigned int i;

	for (i = 0; i < nr_flows; i++)
		for (*side = 0; *side < LH_SIDES; (*side)++)
			if (mounts && flows[i]->mounts[*side] == mounts)
				return flows[i];
	return NULL;
}

static enum role role_of(const struct program_flow *flow, enum side side)
{
	return (side == LH_SERVER) == flow->server_sends ? LH_SENDER : LH_RECEIVER;
}

static enum side side_of(const struct program_flow *flow, enum role role)
{
	return role_of(flow, LH_SERVER) == role ? LH_SERVER : LH_CLIENT;
}

static void mark(struct connection *connection, enum role role, struct sock *sk)
{
	u32 number = connection->flow->id + (connection->slot - connection->flow->slots) + 1;

	connection->ends[role] = sk;
	connection->open[role] = true;
	WRITE_ONCE(sk->sk_mark, role == LH_SENDER ? number : LH_MARK_RECEIVER | number);
}

/* Whether a connection has this slot: at either end, or at this one. */
static bool is_taken(const struct slot *slot, bool any, enum role role)
{
	const struct connection *one;

	list_for_each_entry(one, &connections, list)
		if (one->slot == slot && (one->open[role] || (any && (one->open[!role] || !one->joined))))
			return true;
	return false;
}

/* One that is free at both ends, or else at the end that opens the connection: the other one is expected to end first. */
static struct slot *choose_slot(struct program_flow *flow, enum role role)
{
	unsigned int i, any;

	for (any = 2; any--;)
		for (i = 0; i < flow->slot_count; i++)
			if (!is_taken(&flow->slots[i], any, role))
				return &flow->slots[i];
	return NULL;
}

static u32 count_open(const struct program_flow *flow, enum role role)
{
	const struct connection *one;
	u32 open = 0;

	list_for_each_entry(one, &connections, list)
		open += one->flow == flow && one->open[role];
	return open;
}

static void open_connection(struct sock *sk)
{
	struct program_flow *flow;
	struct connection *made;
	struct slot *slot;
	enum side side;
	enum role role;

	flow = find_flow(current->nsproxy ? current->nsproxy->mnt_ns : NULL, &side);
	if (!flow || !leaves_host(sk))
		return;
	role = role_of(flow, side);
	flow->most = max(flow->most, count_open(flow, role) + 1);
	slot = choose_slot(flow, role);
	made = slot ? kzalloc(sizeof(*made), GFP_ATOMIC) : NULL;
	if (!made) {
		flow->most = max(flow->most, flow->slot_count + 1);
		return;
	}
	made->flow = flow;
	made->slot = slot;
	made->opener = role;
	made->sent_before = U64_MAX;
	mark(made, role, sk);
	list_add_tail(&made->list, &connections);
}

static void note_ports(struct connection *connection)
{
	struct slot *slot = connection->slot;

	if (slot->connections < LH_LISTED_PORTS)
		slot->ports[slot->connections] = (struct ports){
			.sender = connection->ends[LH_SENDER]->sk_num,
			.receiver = connection->ends[LH_RECEIVER]->sk_num,
		};
	slot->connections++;
}

static void join_connection(struct sock *sk)
{
	struct connection *one;

	list_for_each_entry(one, &connections, list) {
		struct sock *opener = one->ends[one->opener];
		enum role role = !one->opener;

		if (one->joined || !opener || !are_peers(opener, sk))
			continue;
		if (sock_net(sk) != one->flow->nets[side_of(one->flow, role)])
			one->flow->elsewhere++;
		if (is_taken(one->slot, false, role))
			one->flow->most = max(one->flow->most, one->flow->slot_count + 1);
		one->joined = true;
		mark(one, role, sk);
		note_ports(one);
		wake_up_interruptible(&joined);
		return;
	}
}

/* Calls what hangs on the tracepoint: it reads what the socket has received, and counts it. */
static void show_receiver(struct sock *sk)
{
	const struct tracepoint_func *one = rcu_dereference_raw(space_adjust->funcs);

	for (; one && one->func; one++)
		((void (*)(void *, struct sock *))one->func)(one->data, sk);
}

/* The probe sees ACKs of senders whose connection is established at both ends. */
static void end_sender(struct connection *connection, const struct sock *sk, int state)
{
	connection->open[LH_SENDER] = false;
	if (state == TCP_CLOSE_WAIT)
		connection->sent_before = sent_bytes(sk);
}

/* No more is received after a FIN, or after the program has closed the socket; then it has read what it wanted. */
static void end_receiver(struct connection *connection, struct sock *sk, int state)
{
	bool closed = (sk->sk_shutdown & RCV_SHUTDOWN) && !sock_flag(sk, SOCK_DONE);

	if (!connection->open[LH_RECEIVER] || !((sk->sk_shutdown & RCV_SHUTDOWN) || state == TCP_CLOSE))
		return;
	if (!closed)
		show_receiver(sk);
	connection->open[LH_RECEIVER] = false;
	WRITE_ONCE(sk->sk_mark, 0);
}

static void close_end(struct connection *connection, enum role role)
{
	struct slot *slot = connection->slot;

	if (connection->joined)
		add_end(&slot->counts, connection, role);
	connection->ends[role] = NULL;
	connection->open[role] = false;
	if (connection->ends[!role])
		return;
	list_del(&connection->list);
	kfree(connection);
}

static void note_state(struct sock *sk, int state)
{
	struct connection *one;
	enum role role;

	list_for_each_entry(one, &connections, list)
		for (role = 0; role < LH_ROLES; role++) {
			if (one->ends[role] != sk)
				continue;
			if (role == LH_SENDER && state != TCP_ESTABLISHED)
				end_sender(one, sk, state);
			if (role == LH_RECEIVER)
				end_receiver(one, sk, state);
			if (state == TCP_CLOSE)
				close_end(one, role);
			return;
		}
}

static void note_listener(const struct sock *sk)
{
	enum side side;
	struct program_flow *flow = find_flow(current->nsproxy ? current->nsproxy->mnt_ns : NULL, &side);

	if (flow && side == LH_SERVER && !ipv4_is_loopback(sk->sk_rcv_saddr))
		flow->listening++;
}

static void on_set_state(void *unused, const struct sock *socket, const int old, const int new)
{
	struct sock *sk = (struct sock *)socket;
	unsigned long flags;

	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	spin_lock_irqsave(&lock, flags);
	if (new == TCP_LISTEN)
		note_listener(sk);
	else if (new == TCP_SYN_SENT)
		open_connection(sk);
	else if (new == TCP_ESTABLISHED && old == TCP_SYN_RECV)
		join_connection(sk);
	else
		note_state(sk, new);
	spin_unlock_irqrestore(&lock, flags);
}

/* ---- the agent's words ---- */

static struct program_flow *flow_with(u32 id)
{
	unsigned int i;

	for (i = 0; i < nr_flows; i++)
		if (id - flows[i]->id < flows[i]->slot_count)
			return flows[i];
	return NULL;
}

static int add_flow(u32 id, u32 slots, bool server_sends)
{
	struct program_flow *flow;
	u32 i;

	if (nr_flows == LH_PROGRAM_FLOWS || !slots)
		return -ENOSPC;
	flow = kzalloc(sizeof(*flow), GFP_KERNEL);
	if (flow)
		flow->slots = kcalloc(slots, sizeof(*flow->slots), GFP_KERNEL);
	if (!flow || !flow->slots)
		return -ENOMEM;
	for (i = 0; i < slots; i++) {
		flow->slots[i].counts.least_rtt_us = U32_MAX;
		flow->slots[i].ports = kcalloc(LH_LISTED_PORTS, sizeof(struct ports), GFP_KERNEL);
		if (!flow->slots[i].ports)
			return -ENOMEM;
	}
	flow->id = id;
	flow->slot_count = slots;
	flow->server_sends = server_sends;
	flows[nr_flows++] = flow;
	return 0;
}

/* The process that writes this, and all that it starts, is the program of that side. */
static int take_side(u32 id, u32 side)
{
	struct program_flow *flow = flow_with(id);
	unsigned long flags;

	if (!flow || side >= LH_SIDES)
		return -EINVAL;
	spin_lock_irqsave(&lock, flags);
	flow->mounts[side] = current->nsproxy->mnt_ns;
	flow->nets[side] = current->nsproxy->net_ns;
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

/* What is not sent yet never is: a socket that its program leaves behind ends with a reset. */
static void reset_at_close(const struct program_flow *flow)
{
	struct connection *one;
	unsigned long flags;
	enum role role;

	spin_lock_irqsave(&lock, flags);
	list_for_each_entry(one, &connections, list)
		for (role = 0; one->flow == flow && role < LH_ROLES; role++)
			if (one->ends[role] && side_of(flow, role) == LH_CLIENT) {
				sock_set_flag(one->ends[role], SOCK_LINGER);
				one->ends[role]->sk_lingertime = 0;
			}
	spin_unlock_irqrestore(&lock, flags);
}

static int await_connection(u32 id)
{
	struct program_flow *flow = flow_with(id);

	if (!flow)
		return -EINVAL;
	return wait_event_interruptible(joined, flow->slots[id - flow->id].connections);
}

static int obey(const char *line)
{
	u32 id, value, more;

	if (sscanf(line, "flow %u %u %u", &id, &value, &more) == 3)
		return add_flow(id, value, more);
	if (sscanf(line, "side %u %u", &id, &value) == 2)
		return take_side(id, value);
	if (sscanf(line, "await %u", &id) == 1)
		return await_connection(id);
	if (sscanf(line, "reset %u", &id) == 1 && flow_with(id)) {
		reset_at_close(flow_with(id));
		return 0;
	}
	return -EINVAL;
}

static ssize_t on_proc_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	char line[64];

	return obey_written(line, sizeof(line), from, count, obey);
}

/* ---- counts, to read ---- */

static void show_slot(struct seq_file *file, const struct program_flow *flow, const struct slot *slot)
{
	struct counts all = slot->counts;
	const struct connection *one;
	enum role role;
	u32 i;

	list_for_each_entry(one, &connections, list)
		for (role = 0; one->slot == slot && one->joined && role < LH_ROLES; role++)
			if (one->ends[role])
				add_end(&all, one, role);
	seq_printf(file, "slot %u %u %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %u %u %u %s\n",
		   flow->id + (u32)(slot - flow->slots), slot->connections, all.sent, all.received, all.sent_packets,
		   all.received_packets, all.again, all.delivered, all.marks,
		   all.busy * (USEC_PER_SEC / HZ), all.window_limited * (USEC_PER_SEC / HZ),
		   all.buffer_limited * (USEC_PER_SEC / HZ), all.unseen, all.backward, all.least_rtt_us, all.mss,
		   all.ecn, *all.cc ? all.cc : "-");
	for (i = 0; i < min_t(u32, slot->connections, LH_LISTED_PORTS); i++)
		seq_printf(file, "ports %u %u %u\n", flow->id + (u32)(slot - flow->slots), slot->ports[i].sender,
			   slot->ports[i].receiver);
}

static int show_all(struct seq_file *file, void *unused)
{
	unsigned long flags;
	unsigned int i, j;

	spin_lock_irqsave(&lock, flags);
	for (i = 0; i < nr_flows; i++) {
		seq_printf(file, "flow %u %u %u %u\n", flows[i]->id, flows[i]->listening, flows[i]->most,
			   flows[i]->elsewhere);
		for (j = 0; j < flows[i]->slot_count; j++)
			show_slot(file, flows[i], &flows[i]->slots[j]);
	}
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int on_proc_open(struct inode *inode, struct file *file)
{
	return single_open(file, show_all, NULL);
}

static const struct proc_ops proc_ops = {
	.proc_open = on_proc_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = on_proc_write,
};

/* ---- coming ---- */

static void match_hook(struct tracepoint *point, void *unused)
{
	if (!strcmp(point->name, "inet_sock_set_state"))
		set_state = point;
	if (!strcmp(point->name, "tcp_rcv_space_adjust"))
		space_adjust = point;
}

/* Without an end: it stays as long as the guest. */
static int __init lh_programs_init(void)
{
	int error;

	for_each_kernel_tracepoint(match_hook, NULL);
	if (!set_state || !space_adjust)
		return -ENOENT;
	error = tracepoint_probe_register(set_state, on_set_state, NULL);
	if (error)
		return error;
	return proc_create("lh_programs", 0600, NULL, &proc_ops) ? 0 : -ENOMEM;
}

module_init(lh_programs_init);

MODULE_DESCRIPTION("Connections of programs, marked and counted in a virtual-time guest");
MODULE_LICENSE("GPL");
