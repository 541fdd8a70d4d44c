// SPDX-License-Identifier: GPL-2.0
/*
 * lh_trace: what TCP and the queues did, written from inside the guest kernel to a descriptor of the host.
 *
 * A guest's system calls are dear and its function calls are cheap. So nothing polls: the probe hangs on tracepoints,
 * fills fixed-width records (lh_trace.h) into a buffer, and hands the buffer to the host with one host call when it is
 * full or 100 ms of virtual time old. Tracing takes no virtual time: the clock is read with interrupts off, where the
 * time-travel clock does not advance.
 *
 *	tcp_probe             an ACK reached a sender          -> ACK record, STATE record once a tick
 *	tcp_rcv_space_adjust  an application read              -> remembered; FLOW record at the next tick
 *	qdisc_dequeue         a followed device was served     -> remembered; LINK record at the next tick;
 *	                                                          DEPARTURE record at once, where it is asked for
 *	kfree_skb             a followed device lost a packet  -> DROP record
 *
 * An lh_link counts itself, and is read at each tick (link_queue.h). It calls for each packet that comes to its policer, for a
 * DECISION record, where these are asked for.
 *
 * The agent talks to it through /proc/lh_trace (docs/run-directory.md). Sockets are recognised by sk_mark. User-Mode
 * Linux only: it needs os_write_file().
 */

#include <linux/bitmap.h>
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/inet_diag.h>
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/inet_ecn.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

#include "lh_trace.h"
#include "link_queue.h"

/* arch/um/os-Linux/file.c; its header is private to arch/um. */
extern int os_write_file(int fd, const void *buf, int len);

#define LH_MAX_FLOWS 4096
#define LH_MAX_LINKS 64
#define LH_BUFFER_BYTES (256 * 1024)
/* Users watch a run while it is running: no record waits longer than this, in virtual time. */
#define LH_FLUSH_NS (100 * NSEC_PER_MSEC)

static int fd = 5;
module_param(fd, int, 0444);
MODULE_PARM_DESC(fd, "host descriptor the trace is written to");

static unsigned int tick_us = 10000;
module_param(tick_us, uint, 0444);
MODULE_PARM_DESC(tick_us, "interval of FLOW and LINK records, in us of virtual time");

static unsigned int ack_us;
module_param(ack_us, uint, 0444);
MODULE_PARM_DESC(ack_us, "at most one ACK record a flow in this interval; 0: every ACK");

static bool departures;
module_param(departures, bool, 0444);
MODULE_PARM_DESC(departures, "a DEPARTURE record for each packet that leaves a followed queue");

static bool decisions;
module_param(decisions, bool, 0444);
MODULE_PARM_DESC(decisions, "a DECISION record for each packet that comes to a followed policer");

/* The words of a congestion control, whichever layout it has. */
union state {
	union tcp_cc_info info;
	u32 words[5];
};

/* A flow's sender and receiver. Connections follow one another (a web user), so finished ones are added up. */
struct flow {
	u64 next_ack_ns, next_state_ns;
	union state state;     /* as last written */
	const struct sock *sk; /* the receiver: compared, never followed */
	u32 first_seq;	       /* of its connection: a socket's memory is used again */
	u64 earlier_bytes; /* of connections before this one */
	u64 bytes;	   /* of this connection */
};

/* A queue that is followed: a qdisc on a device. */
struct link {
	struct net_device *dev;
	netdevice_tracker tracker;
	struct Qdisc *queue; /* what waits for the line */
	struct Qdisc *root;  /* the same, or the delay line above it */
	struct link_queue *own;	   /* of an lh_link, which counts itself; otherwise NULL */
	struct link_queue before;  /* what it had counted at the epoch */
	u64 changed_ns;	     /* when the backlog was last looked at */
	u64 byte_ns;
	u64 tx_packets, tx_bytes;
	u32 backlog, qlen, max_qlen;
	u32 marks, max_frame;
	s32 losses;
	u16 id;
	bool dirty, dual;
};

/* A policer that is followed: of the lh_link of a device. */
struct policer {
	struct net_device *dev;
	netdevice_tracker tracker;
	struct link_queue *queue;
	u16 id;
};

static struct flow *flows;
static DECLARE_BITMAP(dirty_flows, LH_MAX_FLOWS);
static struct link links[LH_MAX_LINKS];
static unsigned int nr_links;
static struct policer policers[LH_MAX_LINKS];
static unsigned int nr_policers;

static DEFINE_SPINLOCK(lock); /* all of the above and below */
static u8 *buffer;
static unsigned int used;
static u64 epoch_ns, end_ns, flushed_ns, records, written;
static struct hrtimer tick, last;

/* ---- records ---- */

static void write_out(void)
{
	unsigned int done = 0;

	while (done < used) {
		int n = os_write_file(fd, buffer + done, used - done);

		if (n > 0)
			done += n;
		else if (n != -EINTR && n != -EAGAIN)
			/* What is not traced is not worth running: the guest ends here and now. */
			panic("lh_trace: writing the trace failed with error %d", n ? -n : EIO);
	}
	written += done;
	used = 0;
}

static void *new_record(enum lh_kind kind, u8 state, u16 id, u64 now_ns)
{
	struct lh_event *record; /* any of them: the first 12 bytes are common */

	if (used + LH_RECORD_BYTES > LH_BUFFER_BYTES)
		write_out();
	record = (void *)(buffer + used);
	used += LH_RECORD_BYTES;
	records++;
	memset(record, 0, LH_RECORD_BYTES);
	record->t_ns = min(now_ns, end_ns) - epoch_ns;
	record->kind = kind;
	record->state = state;
	record->id = id;
	return record;
}

/* The agent needs a moment of virtual time to end; packets in it are not part of the run. */
static bool is_running(u64 now_ns)
{
	return epoch_ns && now_ns >= epoch_ns && now_ns <= end_ns;
}

/* ---- receivers ---- */

/* Bytes that are there in order for the application, over all connections of the flow. */
static void count_receiver(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 mark = READ_ONCE(sk->sk_mark) & ~LH_MARK_RECEIVER;
	unsigned long flags;
	struct flow *flow;
	u32 first_seq;

	if (!mark || mark > LH_MAX_FLOWS || (epoch_ns && ktime_get_ns() > end_ns))
		return;
	spin_lock_irqsave(&lock, flags);
	flow = &flows[mark - 1];
	first_seq = tp->rcv_nxt - (u32)tp->bytes_received;
	if (flow->sk != sk || flow->first_seq != first_seq) {
		flow->earlier_bytes += flow->bytes;
		flow->sk = sk;
		flow->first_seq = first_seq;
	}
	/* The kernel counts a FIN as a byte. */
	flow->bytes = tp->bytes_received - !!(sk->sk_shutdown & RCV_SHUTDOWN);
	__set_bit(mark - 1, dirty_flows);
	spin_unlock_irqrestore(&lock, flags);
}

static void on_rcv_space_adjust(void *unused, struct sock *sk)
{
	if (READ_ONCE(sk->sk_mark) & LH_MARK_RECEIVER)
		count_receiver(sk);
}

/* ---- senders ---- */

/* What `ss -i` would show; written again only when it has changed. */
static void write_state(struct sock *sk, struct flow *flow, u16 id, u64 now)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	union state state = {};
	struct lh_state *record;
	int layout = 0;

	BUILD_BUG_ON(sizeof(state) != sizeof(state.words));
	if (!ops->get_info || now < flow->next_state_ns)
		return;
	flow->next_state_ns = now + tick_us * (u64)NSEC_PER_USEC;
	if (!ops->get_info(sk, ~0u, &layout, &state.info) || !memcmp(&state, &flow->state, sizeof(state)))
		return;
	flow->state = state;
	record = new_record(LH_STATE, inet_csk(sk)->icsk_ca_state, id, now);
	record->layout = layout;
	record->word0 = state.words[0];
	record->word1 = state.words[1];
	record->word2 = state.words[2];
	record->word3 = state.words[3];
	record->word4 = state.words[4];
}

static void on_tcp_probe(void *unused, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 mark = READ_ONCE(sk->sk_mark);
	struct lh_ack *record;
	unsigned long flags;
	struct flow *flow;
	u64 now;

	if (mark & LH_MARK_RECEIVER) {
		/* What came before this segment; the rest is counted when the application reads. */
		count_receiver(sk);
		return;
	}
	if (!mark || mark > LH_MAX_FLOWS || !tp->packets_out)
		return;
	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	flow = &flows[mark - 1];
	if (!is_running(now) || now < flow->next_ack_ns)
		goto out;
	if (ack_us)
		flow->next_ack_ns = now + ack_us * (u64)NSEC_PER_USEC;
	record = new_record(LH_ACK, inet_csk(sk)->icsk_ca_state, mark - 1, now);
	record->cwnd = tcp_snd_cwnd(tp);
	record->ssthresh = tp->snd_ssthresh;
	record->srtt_us = tp->srtt_us >> 3;
	record->rtt_us = tp->rack.rtt_us;
	record->inflight = tcp_packets_in_flight(tp);
	record->delivered = tp->delivered;
	record->retrans = tp->total_retrans;
	record->lost = tp->lost;
	record->snd_wnd = tp->snd_wnd;
	record->pacing_Bps = READ_ONCE(sk->sk_pacing_rate);
	record->acked_bytes = tp->bytes_acked;
	write_state(sk, flow, mark - 1, now);
out:
	spin_unlock_irqrestore(&lock, flags);
}

static void write_flow(unsigned int id, u64 bytes, u32 packets, u64 now)
{
	struct lh_flow *record = new_record(LH_FLOW, 0, id, now);

	record->app_bytes = bytes;
	record->packets = packets;
}

/* ---- queues ---- */

static struct link *link_of(const struct net_device *dev)
{
	unsigned int i;

	for (i = 0; i < nr_links; i++)
		if (links[i].dev == dev)
			return &links[i];
	return NULL;
}

/* An lh_link has counted since it was made, a trace counts from its epoch on. */
static void read_own(struct link *link, u64 now)
{
	const struct link_queue *queue = link->own;
	u64 sent = link->tx_packets;

	link->own->settle(link->own, now);
	link->byte_ns = queue->byte_ns - link->before.byte_ns;
	link->tx_packets = queue->tx_packets - link->before.tx_packets;
	link->tx_bytes = queue->tx_bytes - link->before.tx_bytes;
	link->marks = queue->marks - link->before.marks;
	link->backlog = queue->bytes;
	link->qlen = queue->packets;
	link->max_qlen = queue->most_packets;
	link->max_frame = queue->largest_frame;
	link->dirty = link->dirty || sent != link->tx_packets || queue->most_packets;
}

/*
 * Look at the queue. Every change of it is followed, at the same instant, by an attempt to dequeue, so what is seen here
 * held from now on: the integral and the maximum are exact.
 */
static void look(struct link *link, u64 now)
{
	if (link->own) {
		read_own(link, now);
		return;
	}
	link->byte_ns += (u64)link->backlog * (now - link->changed_ns);
	link->changed_ns = now;
	link->backlog = link->queue->qstats.backlog;
	link->qlen = link->queue->q.qlen;
	link->max_qlen = max(link->max_qlen, link->qlen);
	link->dirty = true;
}

#ifdef LH_HAVE_DUALPI2
/*
 * What dualpi2 keeps with a packet: a copy of its private structure, as it has no other. The agent compares the counts that
 * follow from it with the kernel's own.
 */
struct dualpi2_packet {
	u64 ts;
	u8 apply_step : 1, classified : 2, ect : 2;
};

static enum lh_queue find_queue(const struct link *link, const struct sk_buff *skb, u64 now, u64 *wait_ns)
{
	const struct dualpi2_packet *packet = (const void *)qdisc_skb_cb(skb)->data;

	if (!link->dual)
		return LH_QUEUE_CLASSIC;
	*wait_ns = now - packet->ts;
	return packet->classified ? LH_QUEUE_L4S : LH_QUEUE_CLASSIC;
}
#else
static enum lh_queue find_queue(const struct link *link, const struct sk_buff *skb, u64 now, u64 *wait_ns)
{
	return LH_QUEUE_CLASSIC;
}
#endif

static void write_departure(const struct link *link, const struct sk_buff *skb, u64 now, u64 wait_ns)
{
	const struct iphdr *ip = ip_hdr(skb);
	struct lh_departure *record;
	enum lh_queue queue;

	if (skb->protocol != htons(ETH_P_IP))
		return;
	queue = find_queue(link, skb, now, &wait_ns);
	record = new_record(LH_DEPARTURE, queue, link->id, now);
	record->wait_ns = wait_ns;
	record->length = skb->len;
	record->ecn = ip->tos & INET_ECN_MASK;
	if (ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP) {
		const struct udphdr *ports = (const void *)ip + ip->ihl * 4;

		record->source_port = ntohs(ports->source);
		record->destination_port = ntohs(ports->dest);
	}
}

/* An lh_link calls it. */
static void on_decision(void *reader, const struct sk_buff *skb, bool passes, u64 now)
{
	const struct policer *policer = reader;
	struct lh_decision *record;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	if (!is_running(now))
		goto out;
	record = new_record(LH_DECISION, passes ? LH_POLICE_PASS : LH_POLICE_DROP, policer->id, now);
	record->length = qdisc_pkt_len(skb);
	if (skb->protocol == htons(ETH_P_IP)) {
		const struct iphdr *ip = ip_hdr(skb);
		const struct udphdr *ports = (const void *)ip + ip->ihl * 4;

		if (ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP) {
			record->source_port = ntohs(ports->source);
			record->destination_port = ntohs(ports->dest);
		}
	}
out:
	spin_unlock_irqrestore(&lock, flags);
}

/* An lh_link calls it. */
static void on_departure(void *reader, const struct sk_buff *skb, u64 wait_ns, u64 now)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	if (is_running(now))
		write_departure(reader, skb, now, wait_ns);
	spin_unlock_irqrestore(&lock, flags);
}

static void on_qdisc_dequeue(void *unused, struct Qdisc *qdisc, const struct netdev_queue *txq, int packets,
			     struct sk_buff *skb)
{
	struct link *link = link_of(txq->dev);
	unsigned long flags;
	u64 now;

	if (!link || link->own)
		return;
	/* Most tries come too early: nothing leaves, nothing has come. */
	if (!skb && link->queue->qstats.backlog == link->backlog && link->queue->q.qlen == link->qlen)
		return;
	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	if (!is_running(now))
		goto out;
	look(link, now);
	if (skb) {
		link->tx_packets += packets;
		link->tx_bytes += qdisc_pkt_len(skb);
		link->max_frame = max(link->max_frame, skb->len);
		if (skb->protocol == htons(ETH_P_IP) && INET_ECN_is_ce(ip_hdr(skb)->tos))
			link->marks++;
		if (departures)
			write_departure(link, skb, now, 0);
	}
out:
	spin_unlock_irqrestore(&lock, flags);
}

static s32 random_losses(const struct link *link)
{
	if (link->own)
		return link->own->losses;
	/* The delay line counts its own random losses and, once more, what its child refused. */
	return link->root == link->queue ? 0 : link->root->qstats.drops - link->queue->qstats.drops;
}

static void on_kfree_skb(void *unused, struct sk_buff *skb)
{
	struct link *link = link_of(skb->dev);
	struct lh_drop_record *record;
	enum lh_drop cause = LH_DROP_QUEUE;
	unsigned long flags;
	s32 losses;
	u64 now;

	if (!link || skb->protocol != htons(ETH_P_IP))
		return;
	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	if (!is_running(now))
		goto out;
	losses = random_losses(link);
	if (losses > link->losses) {
		link->losses = losses;
		cause = LH_DROP_RANDOM;
	}
	link->dirty = true;
	if (link->own)
		look(link, now);
	record = new_record(LH_DROP, cause, link->id, now);
	record->length = skb->len;
	record->queue_packets = link->own ? link->qlen : link->queue->q.qlen;
	if (ip_hdr(skb)->protocol == IPPROTO_TCP || ip_hdr(skb)->protocol == IPPROTO_UDP) {
		/* Ports stand at the same place in both; the sequence number is TCP's. */
		const struct tcphdr *ports = (void *)ip_hdr(skb) + ip_hdrlen(skb);

		record->source_port = ntohs(ports->source);
		record->destination_port = ntohs(ports->dest);
		if (ip_hdr(skb)->protocol == IPPROTO_TCP)
			record->seq = ntohl(ports->seq);
	}
out:
	spin_unlock_irqrestore(&lock, flags);
}

static void write_link(struct link *link, u64 now)
{
	struct lh_link *record = new_record(LH_LINK, 0, link->id, now);

	look(link, now);
	record->queue_packets = link->qlen;
	record->queue_bytes = link->backlog;
	record->queue_max_packets = link->max_qlen;
	record->drops = link->own ? link->own->refused : link->queue->qstats.drops;
	record->losses = max(random_losses(link), 0);
	record->marks = link->marks;
	record->tx_packets = link->tx_packets;
	record->tx_bytes = link->tx_bytes;
	record->queue_byte_ns = link->byte_ns;
	link->max_qlen = link->qlen;
	if (link->own)
		link->own->most_packets = link->qlen;
	link->dirty = link->qlen > 0; /* a queue that waits is news, even if nothing moved */
}

/* ---- ticks ---- */

static void write_links(u64 now)
{
	unsigned int i;

	for (i = 0; i < nr_links; i++) {
		if (links[i].own)
			look(&links[i], now);
		if (links[i].dirty)
			write_link(&links[i], now);
	}
}

static void write_flows(u64 now)
{
	unsigned int i;

	for_each_set_bit(i, dirty_flows, LH_MAX_FLOWS)
		write_flow(i, flows[i].earlier_bytes + flows[i].bytes, 0, now);
	bitmap_zero(dirty_flows, LH_MAX_FLOWS);
}

static enum hrtimer_restart on_tick(struct hrtimer *timer)
{
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	if (now < end_ns) {
		write_links(now);
		write_flows(now);
	}
	if (used && now - flushed_ns >= LH_FLUSH_NS) {
		flushed_ns = now;
		write_out();
	}
	spin_unlock_irqrestore(&lock, flags);
	hrtimer_forward_now(timer, ns_to_ktime(tick_us * (u64)NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

/* The queues at the end; applications still read then, and so flows are written when they have. */
static enum hrtimer_restart on_last(struct hrtimer *timer)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	write_links(end_ns);
	spin_unlock_irqrestore(&lock, flags);
	return HRTIMER_NORESTART;
}

/* ---- tracepoints ---- */

static struct hook {
	const char *name;
	void *function;
	struct tracepoint *point;
} hooks[] = {
	{ "tcp_probe", on_tcp_probe },
	{ "tcp_rcv_space_adjust", on_rcv_space_adjust },
	{ "kfree_skb", on_kfree_skb },
	{ "qdisc_dequeue", on_qdisc_dequeue }, /* once a queue is followed that does not count itself */
};
#define HOOKS_AT_START (ARRAY_SIZE(hooks) - 1)
static unsigned int hooked;

static void match_hook(struct tracepoint *point, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (!strcmp(hooks[i].name, point->name))
			hooks[i].point = point;
}

static int hook(unsigned int count)
{
	for (; hooked < count; hooked++) {
		struct hook *next = &hooks[hooked];
		int error = next->point ? tracepoint_probe_register(next->point, next->function, NULL) : -ENOENT;

		if (!error)
			continue;
		pr_err("lh_trace: hooking tracepoint %s: error %d\n", next->name, error);
		return error;
	}
	return 0;
}

static void let_go(void)
{
	while (hooked--)
		tracepoint_probe_unregister(hooks[hooked].point, hooks[hooked].function, NULL);
	tracepoint_synchronize_unregister();
}

/* ---- the agent's words ---- */

static struct Qdisc *find_qdisc(struct net_device *dev, u32 handle)
{
	struct Qdisc *root = rtnl_dereference(dev->qdisc), *qdisc;

	if (root && root->handle == handle)
		return root;
	hash_for_each_possible(dev->qdisc_hash, qdisc, hash, handle)
		if (qdisc->handle == handle)
			return qdisc;
	return NULL;
}

static int follow(unsigned int id, const char *name, u32 major)
{
	struct link *link = &links[nr_links];
	unsigned long flags;
	int error = 0;

	if (nr_links == LH_MAX_LINKS)
		return -ENOSPC;
	rtnl_lock();
	link->dev = __dev_get_by_name(current->nsproxy->net_ns, name);
	if (!link->dev) {
		error = -ENODEV;
		goto out;
	}
	link->queue = find_qdisc(link->dev, major << 16);
	link->root = rtnl_dereference(link->dev->qdisc);
	link->dual = link->queue && !strcmp(link->queue->ops->id, "dualpi2");
	if (!link->queue) {
		error = -ENOENT;
		link->dev = NULL;
		goto out;
	}
	link->own = link_queue_of(link->queue);
	if (!link->own)
		error = hook(ARRAY_SIZE(hooks));
	if (error) {
		link->dev = NULL;
		goto out;
	}
	if (link->own && departures) {
		link->own->reader = link;
		link->own->on_departure = on_departure;
	}
	netdev_hold(link->dev, &link->tracker, GFP_KERNEL);
	link->id = id;
	spin_lock_irqsave(&lock, flags);
	nr_links++;
	spin_unlock_irqrestore(&lock, flags);
out:
	rtnl_unlock();
	return error;
}

static int follow_policer(unsigned int id, const char *name)
{
	struct policer *policer = &policers[nr_policers];
	int error = 0;

	if (nr_policers == LH_MAX_LINKS)
		return -ENOSPC;
	rtnl_lock();
	policer->dev = __dev_get_by_name(current->nsproxy->net_ns, name);
	if (!policer->dev) {
		error = -ENODEV;
		goto out;
	}
	policer->queue = link_queue_of(rtnl_dereference(policer->dev->qdisc));
	if (!policer->queue) {
		error = -ENOENT;
		goto out;
	}
	netdev_hold(policer->dev, &policer->tracker, GFP_KERNEL);
	policer->id = id;
	policer->queue->decision_reader = policer;
	WRITE_ONCE(policer->queue->on_decision, on_decision);
	nr_policers++;
out:
	rtnl_unlock();
	return error;
}

static void begin(u64 at_ns, u64 until_ns)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&lock, flags);
	epoch_ns = flushed_ns = at_ns;
	end_ns = until_ns;
	for (i = 0; i < nr_links; i++) {
		links[i].changed_ns = at_ns;
		if (!links[i].own)
			continue;
		links[i].own->settle(links[i].own, ktime_get_ns());
		links[i].own->most_packets = 0;
		links[i].before = *links[i].own;
	}
	spin_unlock_irqrestore(&lock, flags);
	hrtimer_start(&tick, ns_to_ktime(at_ns + tick_us * (u64)NSEC_PER_USEC), HRTIMER_MODE_ABS_SOFT);
	hrtimer_start(&last, ns_to_ktime(until_ns), HRTIMER_MODE_ABS_SOFT);
}

static void finish(void)
{
	unsigned long flags;

	hrtimer_cancel(&tick);
	hrtimer_cancel(&last);
	spin_lock_irqsave(&lock, flags);
	write_flows(end_ns);
	write_out();
	spin_unlock_irqrestore(&lock, flags);
}

static int obey(const char *line)
{
	unsigned long long value, more;
	unsigned int what, id, major;
	struct lh_event *event;
	char name[IFNAMSIZ];
	unsigned long flags;

	if (sscanf(line, "link %u %15s %x", &id, name, &major) == 3)
		return follow(id, name, major);
	if (sscanf(line, "police %u %15s", &id, name) == 2)
		return follow_policer(id, name);
	if (sscanf(line, "epoch %llu %llu", &value, &more) == 2) {
		begin(value, more);
		return 0;
	}
	if (sscanf(line, "mark %u %u %llu", &what, &id, &value) == 3) {
		spin_lock_irqsave(&lock, flags);
		event = new_record(LH_EVENT, 0, id, ktime_get_ns());
		event->what = what;
		event->value = value;
		spin_unlock_irqrestore(&lock, flags);
		return 0;
	}
	if (sscanf(line, "udp %u %llu %llu", &id, &value, &more) == 3) {
		spin_lock_irqsave(&lock, flags);
		write_flow(id, value, more, ktime_get_ns());
		spin_unlock_irqrestore(&lock, flags);
		return 0;
	}
	if (!strncmp(line, "flush", 5)) {
		finish();
		return 0;
	}
	return -EINVAL;
}

static ssize_t on_proc_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	char line[128];
	int error;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, count))
		return -EFAULT;
	line[count] = '\0';
	error = obey(line);
	return error ?: count;
}

static ssize_t on_proc_read(struct file *file, char __user *to, size_t count, loff_t *at)
{
	unsigned int i, length;
	char *text;
	ssize_t n;

	text = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	length = scnprintf(text, PAGE_SIZE, "records %llu\nwritten_bytes %llu\n", records, written);
	for (i = 0; i < nr_links; i++)
		length += scnprintf(text + length, PAGE_SIZE - length, "link %u max_frame %u\n", links[i].id,
				    links[i].max_frame);
	n = simple_read_from_buffer(to, count, at, text, length);
	kfree(text);
	return n;
}

static const struct proc_ops proc_ops = {
	.proc_write = on_proc_write,
	.proc_read = on_proc_read,
	.proc_lseek = default_llseek,
};

/* ---- the header of the file ---- */

#define LH_SAY(type, numpy, name)                                                                                      \
	n += scnprintf(text + n, size - n, "%s[\"" #name "\", \"" numpy "\", %zu]", n == begun ? "" : ", ",            \
		       offsetof(typeof(*record), name));

#define LH_SAY_KIND(number, word, NAME, FIELDS)                                                                        \
	do {                                                                                                           \
		const struct NAME *record;                                                                             \
		unsigned int begun;                                                                                    \
                                                                                                                       \
		BUILD_BUG_ON(sizeof(struct NAME) > LH_RECORD_BYTES);                                                   \
		n += scnprintf(text + n, size - n, "%s\"%d\": {\"name\": \"" word "\", \"fields\": [",                 \
			       number == LH_ACK ? "" : ", ", number);                                                  \
		begun = n;                                                                                             \
		LH_COMMON(LH_SAY)                                                                                      \
		FIELDS(LH_SAY)                                                                                         \
		n += scnprintf(text + n, size - n, "]}");                                                              \
	} while (0)

static void write_header(void)
{
	char *text = (char *)buffer;
	unsigned int n, size = LH_HEADER_BYTES;

	n = scnprintf(text, size,
		      "{\"magic\": \"" LH_MAGIC "\", \"record_bytes\": %d, \"byte_order\": \"little\", \"kinds\": {",
		      LH_RECORD_BYTES);
	LH_SAY_KIND(LH_ACK, "ack", lh_ack, LH_ACK_FIELDS);
	LH_SAY_KIND(LH_FLOW, "flow", lh_flow, LH_FLOW_FIELDS);
	LH_SAY_KIND(LH_LINK, "link", lh_link, LH_LINK_FIELDS);
	LH_SAY_KIND(LH_DROP, "drop", lh_drop_record, LH_DROP_FIELDS);
	LH_SAY_KIND(LH_EVENT, "event", lh_event, LH_EVENT_FIELDS);
	LH_SAY_KIND(LH_STATE, "state", lh_state, LH_STATE_FIELDS);
	if (departures)
		LH_SAY_KIND(LH_DEPARTURE, "departure", lh_departure, LH_DEPARTURE_FIELDS);
	if (decisions)
		LH_SAY_KIND(LH_DECISION, "decision", lh_decision, LH_DECISION_FIELDS);
	n += scnprintf(text + n, size - n, "}}");
	memset(text + n, ' ', LH_HEADER_BYTES - n - 1);
	text[LH_HEADER_BYTES - 1] = '\n';
	used = LH_HEADER_BYTES;
	write_out();
}

/* ---- coming and going ---- */

static int __init lh_trace_init(void)
{
	int error = -ENOMEM;

	if (!tick_us)
		return -EINVAL;
	buffer = vmalloc(LH_BUFFER_BYTES);
	flows = vzalloc(LH_MAX_FLOWS * sizeof(*flows));
	if (!buffer || !flows)
		goto free;
	hrtimer_setup(&tick, on_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&last, on_last, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#ifdef LH_HAVE_TIMER_ORDER
	last.node.order = INT_MAX;
#endif
	write_header();
	for_each_kernel_tracepoint(match_hook, NULL);
	error = hook(HOOKS_AT_START);
	if (error)
		goto unhook;
	error = -ENOMEM;
	if (!proc_create("lh_trace", 0600, NULL, &proc_ops))
		goto unhook;
	return 0;
unhook:
	let_go();
free:
	vfree(flows);
	vfree(buffer);
	return error;
}

static void __exit lh_trace_exit(void)
{
	unsigned int i;

	remove_proc_entry("lh_trace", NULL);
	let_go();
	finish();
	for (i = 0; i < nr_links; i++) {
		if (links[i].own)
			links[i].own->on_departure = NULL;
		netdev_put(links[i].dev, &links[i].tracker);
	}
	for (i = 0; i < nr_policers; i++) {
		policers[i].queue->on_decision = NULL;
		netdev_put(policers[i].dev, &policers[i].tracker);
	}
	vfree(flows);
	vfree(buffer);
}

module_init(lh_trace_init);
module_exit(lh_trace_exit);

MODULE_DESCRIPTION("Trace of TCP senders, receivers and queues, from inside a virtual-time guest");
MODULE_LICENSE("GPL");
