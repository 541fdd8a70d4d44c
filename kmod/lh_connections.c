// SPDX-License-Identifier: GPL-2.0
/*
 * lh_connections: every TCP connection and every queue of a guest, traced without a plan; scripts load it, runs of experiments do not.
 *
 *	inet_sock_set_state   SYN_SENT                  -> a connection: it gets a number
 *	                      SYN_RECV -> ESTABLISHED   -> its other end, found by addresses and ports
 *	                      CLOSE                     -> the counts of that end; after the second one its line
 *	tcp_probe             an ACK reached an end     -> ACK record, if the end has data on its way
 *	tcp_rcv_space_adjust  a program read            -> remembered; FLOW record at the next tick
 *	net_dev_queue         a device is given a packet
 *	qdisc_dequeue         a device was served       -> remembered; LINK record at the next tick
 *	kfree_skb             a device lost a packet    -> DROP record
 *
 * The records are those of the probe (lh_trace.h). Of connection n, 2n is the direction from the end that opened it, 2n + 1 the other
 * one. A device is followed by its name from the first packet on that it has in a queue: its root qdisc may be replaced, and the device
 * itself. No pointer to a qdisc is followed later than in the call that has it.
 *
 * It writes two files of the host: records without a header, and lines of text. The rest is written as the guest powers off. It takes no
 * virtual time, as the probe does (lh_trace.c). User-Mode Linux only.
 *
 *	epoch ns                                        time 0 of the records on the guest's monotonic clock
 *	connection n opened_ns connected_ns closed_ns   then for each end: end namespace address port sent received packets_sent
 *	                                                packets_received again delivered marks mss least_rtt_us control
 *	queue id device
 *	rate id ns bits_a_second                        of a queue, from then on
 *	end ns records connections_missed queues_missed
 */

#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

#include "hooks.h"
#include "host_file.h"
#include "lh_trace.h"
#include "tcp_ends.h"

#define LH_RECORDS_BYTES (256 * 1024)
#define LH_LINES_BYTES 4096
#define LH_TICK_NS (10 * NSEC_PER_MSEC)
/* Directions have 16 bits. */
#define LH_MOST_CONNECTIONS 32768
#define LH_MOST_QUEUES 256

static struct host_file records = { .path = "guest/connections.records", .content = "trace", .room = LH_RECORDS_BYTES };
static struct host_file lines = { .path = "guest/connections.lines", .content = "trace", .room = LH_LINES_BYTES };

struct connection;

/* The kernel reports CLOSE before it frees a socket, so these pointers are good. */
struct end {
	struct hlist_node by_socket;
	struct list_head dirty;
	struct connection *connection;
	struct sock *sk; /* NULL once it is closed */
	u64 seen;	 /* bytes in order as last remembered */
	/* Of a closed end. */
	u64 sent, received;
	u32 namespace, packets_sent, packets_received, again, delivered, marks, mss, least_rtt_us;
	__be32 address;
	u16 port;
	char control[TCP_CA_NAME_MAX];
};

struct connection {
	struct list_head list;
	struct end ends[2]; /* the one that opened it, the other one */
	u64 opened_ns, connected_ns, closed_ns;
	u32 number;
};

struct queue {
	struct hlist_node by_name;
	char name[IFNAMSIZ];
	const struct Qdisc *root; /* compared, never followed */
	u64 changed_ns, byte_ns, tx_packets, tx_bytes;
	u32 backlog, qlen, max_qlen;
	u32 taken; /* since the last packet came: one that is refused is freed after the next ones have left */
	u32 root_drops, netem_drops; /* as these qdiscs count them */
	u32 drops, losses, marks;
	u64 rate; /* bytes a second; 0: none is known */
	u16 id;
	bool dirty, asked;
};

static DEFINE_HASHTABLE(ends, 10);
static DEFINE_HASHTABLE(queues_by_name, 8);
static struct queue *queues;
static unsigned int nr_queues, queues_missed, nr_connections, connections_missed;
static LIST_HEAD(opening); /* those without a second end */
static LIST_HEAD(open);
static LIST_HEAD(dirty_ends);
static DEFINE_SPINLOCK(lock); /* all of the above and below */
static u64 epoch_ns, written_records;
static struct hrtimer tick;
static bool ticking, ended;

/* ---- files ---- */

static __printf(1, 2) void write_line(const char *format, ...)
{
	char text[512];
	va_list values;
	int length;

	va_start(values, format);
	length = vscnprintf(text, sizeof(text), format, values);
	va_end(values);
	memcpy(reserve(&lines, length), text, length);
}

static void *new_record(enum lh_kind kind, u8 state, u16 id, u64 now)
{
	struct lh_event *record = reserve(&records, LH_RECORD_BYTES); /* any of them: the first 12 bytes are common */

	written_records++;
	memset(record, 0, LH_RECORD_BYTES);
	record->t_ns = now - epoch_ns;
	record->kind = kind;
	record->state = state;
	record->id = id;
	return record;
}

/* ---- ticks ---- */

static void begin_to_tick(u64 now)
{
	if (ticking || ended)
		return;
	ticking = true;
	hrtimer_start(&tick, ns_to_ktime(epoch_ns + ((now - epoch_ns) / LH_TICK_NS + 1) * LH_TICK_NS),
		      HRTIMER_MODE_ABS_HARD);
}

/* ---- connections ---- */

static int index_of(const struct end *end)
{
	return end - end->connection->ends;
}

static struct end *find_end(const struct sock *sk)
{
	struct end *end;

	hash_for_each_possible(ends, end, by_socket, (unsigned long)sk)
		if (end->sk == sk)
			return end;
	return NULL;
}

static void remember_received(struct end *end, u64 now)
{
	u64 received = received_bytes(end->sk);

	if (received == end->seen)
		return;
	end->seen = received;
	if (list_empty(&end->dirty))
		list_add_tail(&end->dirty, &dirty_ends);
	begin_to_tick(now);
}

/* What arrives at an end belongs to the direction from the other one. */
static void write_received(struct end *end, u64 now)
{
	struct lh_flow *record = new_record(LH_FLOW, 0, 2 * end->connection->number + !index_of(end), now);

	record->app_bytes = end->seen;
	list_del_init(&end->dirty);
}

static void count_end(struct end *end)
{
	const struct sock *sk = end->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	end->sent = sent_bytes(sk);
	end->received = received_bytes(sk);
	end->packets_sent = tp->data_segs_out;
	end->packets_received = tp->data_segs_in;
	end->again = tp->total_retrans;
	end->delivered = tp->delivered;
	end->marks = tp->delivered_ce;
	end->mss = tp->mss_cache;
	end->least_rtt_us = tcp_min_rtt(tp);
	strscpy(end->control, inet_csk(sk)->icsk_ca_ops->name, sizeof(end->control));
}

static void write_connection(const struct connection *one)
{
	unsigned int i;

	write_line("connection %u %llu %llu %llu", one->number, one->opened_ns - epoch_ns,
		   one->connected_ns - epoch_ns, one->closed_ns ? one->closed_ns - epoch_ns : 0);
	for (i = 0; i < ARRAY_SIZE(one->ends); i++) {
		const struct end *end = &one->ends[i];

		write_line(" %u %pI4 %u %llu %llu %u %u %u %u %u %u %u %s", end->namespace, &end->address, end->port,
			   end->sent, end->received, end->packets_sent, end->packets_received, end->again,
			   end->delivered, end->marks, end->mss, end->least_rtt_us, end->control);
	}
	write_line("\n");
}

static void add_end(struct connection *connection, unsigned int index, struct sock *sk)
{
	struct end *end = &connection->ends[index];

	end->sk = sk;
	end->namespace = sock_net(sk)->ns.inum;
	hash_add(ends, &end->by_socket, (unsigned long)sk);
}

static void open_connection(struct sock *sk, u64 now)
{
	struct connection *made;
	unsigned int i;

	if (!leaves_host(sk) || find_end(sk))
		return;
	made = kzalloc(sizeof(*made), GFP_ATOMIC);
	if (!made) {
		connections_missed++;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(made->ends); i++) {
		made->ends[i].connection = made;
		INIT_LIST_HEAD(&made->ends[i].dirty);
	}
	made->opened_ns = now;
	add_end(made, 0, sk);
	list_add(&made->list, &opening);
}

static void join_connection(struct sock *sk, u64 now)
{
	struct connection *one;
	unsigned int i;

	list_for_each_entry(one, &opening, list) {
		if (!are_peers(one->ends[0].sk, sk))
			continue;
		if (nr_connections == LH_MOST_CONNECTIONS) {
			connections_missed++;
			return;
		}
		one->number = nr_connections++;
		one->connected_ns = now;
		add_end(one, 1, sk);
		/* A socket that is closed has no port. */
		for (i = 0; i < ARRAY_SIZE(one->ends); i++) {
			one->ends[i].address = one->ends[i].sk->sk_rcv_saddr;
			one->ends[i].port = one->ends[i].sk->sk_num;
		}
		list_move_tail(&one->list, &open);
		return;
	}
}

static void close_end(struct end *end, u64 now)
{
	struct connection *connection = end->connection;
	struct end *other = &connection->ends[!index_of(end)];

	if (connection->connected_ns) {
		remember_received(end, now);
		if (!list_empty(&end->dirty))
			write_received(end, now);
		count_end(end);
	}
	hash_del(&end->by_socket);
	end->sk = NULL;
	if (other->sk)
		return;
	connection->closed_ns = now;
	if (connection->connected_ns)
		write_connection(connection);
	list_del(&connection->list);
	kfree(connection);
}

static void on_set_state(void *unused, const struct sock *socket, const int old, const int new)
{
	struct sock *sk = (struct sock *)socket;
	unsigned long flags;
	struct end *end;
	u64 now;

	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	if (ended)
		goto out;
	if (new == TCP_SYN_SENT)
		open_connection(sk, now);
	if (new == TCP_ESTABLISHED && old == TCP_SYN_RECV)
		join_connection(sk, now);
	end = new == TCP_CLOSE ? find_end(sk) : NULL;
	if (end)
		close_end(end, now);
out:
	spin_unlock_irqrestore(&lock, flags);
}

static void on_rcv_space_adjust(void *unused, struct sock *sk)
{
	unsigned long flags;
	struct end *end;

	spin_lock_irqsave(&lock, flags);
	end = ended ? NULL : find_end(sk);
	if (end && end->connection->connected_ns)
		remember_received(end, ktime_get_ns());
	spin_unlock_irqrestore(&lock, flags);
}

/* As the probe does, whose bytes are part of the ids of runs. */
static void write_ack(const struct end *end, u64 now)
{
	const struct sock *sk = end->sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lh_ack *record = new_record(LH_ACK, inet_csk(sk)->icsk_ca_state,
					   2 * end->connection->number + index_of(end), now);

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
}

static void on_tcp_probe(void *unused, struct sock *sk)
{
	unsigned long flags;
	struct end *end;
	u64 now;

	spin_lock_irqsave(&lock, flags);
	end = ended ? NULL : find_end(sk);
	if (end && end->connection->connected_ns) {
		now = ktime_get_ns();
		remember_received(end, now);
		if (tcp_sk(sk)->packets_out)
			write_ack(end, now);
	}
	spin_unlock_irqrestore(&lock, flags);
}

/* ---- queues ---- */

static u32 key_of(const struct net_device *dev)
{
	return jhash(dev->name, strnlen(dev->name, IFNAMSIZ), 0);
}

static struct queue *find_queue(const struct net_device *dev)
{
	struct queue *queue;

	hash_for_each_possible(queues_by_name, queue, by_name, key_of(dev))
		if (!strcmp(queue->name, dev->name))
			return queue;
	return NULL;
}

static struct queue *follow(const struct net_device *dev)
{
	struct queue *queue = &queues[nr_queues];

	if (nr_queues == LH_MOST_QUEUES) {
		queues_missed++;
		return NULL;
	}
	queue->id = nr_queues++;
	strscpy(queue->name, dev->name, sizeof(queue->name));
	hash_add(queues_by_name, &queue->by_name, key_of(dev));
	write_line("queue %u %s\n", queue->id, queue->name);
	return queue;
}

static void integrate(struct queue *queue, u64 now)
{
	queue->byte_ns += (u64)queue->backlog * (now - queue->changed_ns);
	queue->changed_ns = now;
}

/*
 * Every change of a queue is followed, at the same instant, by an attempt to dequeue, so what is seen here held from now on: the integral and
 * the maximum are exact.
 */
static void look(struct queue *queue, const struct Qdisc *root, u64 now)
{
	u32 drops = root->qstats.drops;

	integrate(queue, now);
	queue->backlog = root->qstats.backlog;
	queue->qlen = root->q.qlen;
	queue->max_qlen = max(queue->max_qlen, queue->qlen);
	/* A new qdisc counts anew. */
	if (queue->root != root || drops < queue->root_drops) {
		queue->root_drops = 0;
		queue->netem_drops = 0;
	}
	queue->root = root;
	queue->dirty = true;
	begin_to_tick(now);
}

/* Where `tc` reads the rate in what a qdisc or its class dumps; others have none, and some of them cannot be asked here. */
static const struct rate_place {
	const char *kind;
	unsigned int head; /* of the options, before their attributes */
	int rate64, parms;
	size_t rate; /* in the parameters */
} rate_places[] = {
	{ "htb", 0, TCA_HTB_CEIL64, TCA_HTB_PARMS, offsetof(struct tc_htb_opt, ceil.rate) },
	{ "tbf", 0, TCA_TBF_RATE64, TCA_TBF_PARMS, offsetof(struct tc_tbf_qopt, rate.rate) },
	{ "netem", NLA_ALIGN(sizeof(struct tc_netem_qopt)), TCA_NETEM_RATE64, TCA_NETEM_RATE,
	  offsetof(struct tc_netem_rate, rate) },
	{ "cake", 0, TCA_CAKE_BASE_RATE64 },
};

static const struct rate_place *find_rate_place(const struct Qdisc *qdisc)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rate_places); i++)
		if (!strcmp(rate_places[i].kind, qdisc->ops->id))
			return &rate_places[i];
	return NULL;
}

/* In bytes a second; 0 without one. */
static u64 rate_in(const struct sk_buff *dumped, const struct rate_place *place)
{
	const struct nlattr *options = nla_find((void *)dumped->data, dumped->len, TCA_OPTIONS), *attributes, *found;
	int length;

	if (!options || nla_len(options) < place->head)
		return 0;
	attributes = nla_data(options) + place->head;
	length = nla_len(options) - place->head;
	found = nla_find(attributes, length, place->rate64);
	if (found)
		return nla_get_u64(found);
	found = place->parms ? nla_find(attributes, length, place->parms) : NULL;
	return found ? *(const u32 *)(nla_data(found) + place->rate) : 0;
}

/* The only class below the root; of several, none has the rate of the device. */
struct top_class {
	struct qdisc_walker walker;
	const struct rate_place *place;
	struct sk_buff *dumped;
	unsigned int count;
	u64 rate;
};

static int ask_class(struct Qdisc *root, unsigned long class, struct qdisc_walker *walker)
{
	struct top_class *top = container_of(walker, struct top_class, walker);
	struct tcmsg message = {};

	skb_trim(top->dumped, 0);
	if (root->ops->cl_ops->dump(root, class, top->dumped, &message) < 0 || message.tcm_parent != TC_H_ROOT)
		return 0;
	top->count++;
	top->rate = rate_in(top->dumped, top->place);
	return 0;
}

static u64 ask_rate(struct Qdisc *root)
{
	struct top_class top = { .walker.fn = ask_class, .place = find_rate_place(root) };
	u64 rate = 0;

	top.dumped = top.place ? alloc_skb(SKB_MAX_ALLOC / 4, GFP_ATOMIC) : NULL;
	if (!top.dumped)
		return 0;
	if (!strcmp(top.place->kind, "htb")) {
		root->ops->cl_ops->walk(root, &top.walker);
		rate = top.count == 1 ? top.rate : 0;
	} else if (root->ops->dump(root, top.dumped) >= 0) {
		rate = rate_in(top.dumped, top.place);
	}
	consume_skb(top.dumped);
	return rate;
}

/* At most once a tick: options are changed in place too. */
static void look_at_rate(struct queue *queue, struct Qdisc *root, u64 now)
{
	u64 rate;

	if (queue->asked)
		return;
	queue->asked = true;
	rate = ask_rate(root);
	if (rate == queue->rate)
		return;
	queue->rate = rate;
	write_line("rate %u %llu %llu\n", queue->id, now - epoch_ns, 8 * rate);
}

static void on_qdisc_dequeue(void *unused, struct Qdisc *root, const struct netdev_queue *txq, int packets,
			     struct sk_buff *skb)
{
	struct queue *queue;
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	/* A device that is taken down has a qdisc of no device for a moment. */
	queue = ended || !txq->dev ? NULL : find_queue(txq->dev) ?: follow(txq->dev);
	if (!queue)
		goto out;
	/* Most tries come too early: nothing leaves, nothing has come. */
	if (!skb && queue->root == root && root->qstats.backlog == queue->backlog && root->q.qlen == queue->qlen)
		goto out;
	look(queue, root, now);
	look_at_rate(queue, root, now);
	queue->taken += skb ? packets : 0;
	for (; skb; skb = skb->next) {
		/* As the qdisc counts them: a train of segments waits as one packet, and is sent as several. */
		u32 segments = skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;

		queue->tx_packets += segments;
		queue->tx_bytes += qdisc_pkt_len(skb);
		if (skb->protocol == htons(ETH_P_IP) && INET_ECN_is_ce(ip_hdr(skb)->tos))
			queue->marks += segments;
	}
out:
	spin_unlock_irqrestore(&lock, flags);
}

static void on_net_dev_queue(void *unused, struct sk_buff *skb)
{
	struct queue *queue;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	queue = find_queue(skb->dev);
	if (queue)
		queue->taken = 0;
	spin_unlock_irqrestore(&lock, flags);
}

struct netems {
	u32 drops;
	bool full;
};

static void add_netem(struct netems *all, const struct Qdisc *qdisc, u32 taken)
{
	if (strcmp(qdisc->ops->id, "netem"))
		return;
	all->drops += qdisc->qstats.drops;
	all->full = all->full || qdisc->q.qlen + taken >= qdisc->limit;
}

/* Every netem of a device, which may be the root or a leaf. */
static struct netems find_netems(const struct net_device *dev, const struct Qdisc *root, u32 taken)
{
	struct netems all = {};
	const struct Qdisc *qdisc;
	int bucket;

	add_netem(&all, root, taken);
	hash_for_each_rcu(dev->qdisc_hash, bucket, qdisc, hash)
		add_netem(&all, qdisc, taken);
	return all;
}

/*
 * Whether a qdisc has dropped a packet that is freed in a transmission, and why. A netem counts the losses of chance among its
 * drops, as those above it do, but it drops for room only when it is full. What no qdisc counts is none of a queue: a copy that a
 * packet socket had no room for.
 */
static bool find_cause(struct queue *queue, const struct net_device *dev, const struct Qdisc *root, enum lh_drop *cause)
{
	struct netems netems = find_netems(dev, root, queue->taken);
	bool by_netem = netems.drops != queue->netem_drops, counted = root->qstats.drops != queue->root_drops;

	queue->netem_drops = netems.drops;
	queue->root_drops += counted;
	*cause = by_netem && !netems.full ? LH_DROP_RANDOM : LH_DROP_QUEUE;
	return by_netem || counted;
}

static void write_drop(struct queue *queue, u32 waiting, enum lh_drop cause, const struct sk_buff *skb, u64 now)
{
	const struct iphdr *ip = (const void *)(skb->data + ETH_HLEN);
	struct lh_drop_record *record = new_record(LH_DROP, cause, queue->id, now);

	if (cause == LH_DROP_QUEUE)
		queue->drops++;
	else
		queue->losses++;
	record->length = skb->len;
	record->queue_packets = waiting;
	/* ARP has none. */
	if (skb->protocol == htons(ETH_P_IP) && skb_headlen(skb) >= ETH_HLEN + sizeof(*ip) + sizeof(struct tcphdr) &&
	    (ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP)) {
		/* Ports stand at the same place in both; the sequence number is TCP's. */
		const struct tcphdr *ports = (const void *)ip + ip->ihl * 4;

		record->source_port = ntohs(ports->source);
		record->destination_port = ntohs(ports->dest);
		if (ip->protocol == IPPROTO_TCP)
			record->seq = ntohl(ports->seq);
	}
}

/* The packets of a queue that is replaced, or whose device is taken down, are freed outside of a transmission. */
static bool is_discarded(const struct net_device *dev, const struct sk_buff *skb)
{
	return dev->reg_state == NETREG_REGISTERED && (!skb->sk || skb->sk->sk_family != AF_PACKET);
}

static void on_kfree_skb(void *unused, struct sk_buff *skb)
{
	const struct net_device *dev = skb->dev;
	enum lh_drop cause = LH_DROP_QUEUE;
	const struct Qdisc *root;
	struct queue *queue;
	unsigned long flags;
	u64 now;

	if (!dev || !is_outbound(skb))
		return;
	rcu_read_lock();
	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	root = rcu_dereference(dev->qdisc);
	if (ended || !root || (!in_softirq() && !is_discarded(dev, skb)))
		goto out;
	queue = find_queue(dev) ?: (root->enqueue ? follow(dev) : NULL);
	if (!queue)
		goto out;
	look(queue, root, now);
	if (!in_softirq())
		write_drop(queue, root->q.qlen, cause, skb, now);
	else if (find_cause(queue, dev, root, &cause))
		write_drop(queue, root->q.qlen + queue->taken, cause, skb, now);
out:
	spin_unlock_irqrestore(&lock, flags);
	rcu_read_unlock();
}

static void write_queue(struct queue *queue, u64 now)
{
	struct lh_link *record = new_record(LH_LINK, 0, queue->id, now);

	integrate(queue, now);
	record->queue_packets = queue->qlen;
	record->queue_bytes = queue->backlog;
	record->queue_max_packets = queue->max_qlen;
	record->drops = queue->drops;
	record->losses = queue->losses;
	record->marks = queue->marks;
	record->tx_packets = queue->tx_packets;
	record->tx_bytes = queue->tx_bytes;
	record->queue_byte_ns = queue->byte_ns;
	queue->max_qlen = queue->qlen;
	queue->asked = false;
	queue->dirty = queue->qlen > 0; /* a queue that waits is news, even if nothing moved */
}

/* Whether the next tick has something to write already. */
static bool write_changes(u64 now)
{
	struct end *end, *next;
	bool waits = false;
	unsigned int i;

	for (i = 0; i < nr_queues; i++) {
		if (queues[i].dirty)
			write_queue(&queues[i], now);
		waits = waits || queues[i].dirty;
	}
	list_for_each_entry_safe(end, next, &dirty_ends, dirty)
		write_received(end, now);
	return waits;
}

static enum hrtimer_restart on_tick(struct hrtimer *timer)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	ticking = !ended && write_changes(ktime_get_ns());
	if (ticking)
		hrtimer_forward_now(timer, ns_to_ktime(LH_TICK_NS));
	spin_unlock_irqrestore(&lock, flags);
	return ticking ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* ---- coming and going ---- */

static struct hook hook_list[] = {
	{ "inet_sock_set_state", on_set_state },
	{ "tcp_probe", on_tcp_probe },
	{ "tcp_rcv_space_adjust", on_rcv_space_adjust },
	{ "net_dev_queue", on_net_dev_queue },
	{ "qdisc_dequeue", on_qdisc_dequeue },
	{ "kfree_skb", on_kfree_skb },
};

static struct hooks hooks = { .list = hook_list, .count = ARRAY_SIZE(hook_list) };

static int on_reboot(struct notifier_block *block, unsigned long event, void *command)
{
	struct connection *one;
	unsigned long flags;
	unsigned int i;
	u64 now;

	spin_lock_irqsave(&lock, flags);
	ended = true;
	now = ktime_get_ns();
	list_for_each_entry(one, &open, list)
		for (i = 0; i < ARRAY_SIZE(one->ends); i++)
			if (one->ends[i].sk) {
				remember_received(&one->ends[i], now);
				count_end(&one->ends[i]);
			}
	write_changes(now);
	list_for_each_entry(one, &open, list)
		write_connection(one);
	write_line("end %llu %llu %u %u\n", now - epoch_ns, written_records, connections_missed, queues_missed);
	write_out(&records);
	write_out(&lines);
	spin_unlock_irqrestore(&lock, flags);
	hrtimer_cancel(&tick);
	return NOTIFY_DONE;
}

static struct notifier_block on_power_off = { .notifier_call = on_reboot };

static int __init lh_connections_init(void)
{
	int error;

	queues = vzalloc(LH_MOST_QUEUES * sizeof(*queues));
	if (!queues)
		return -ENOMEM;
	error = open_host_file(&records) ?: open_host_file(&lines);
	if (error)
		return error;
	hrtimer_setup(&tick, on_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	epoch_ns = ktime_get_ns();
	write_line("epoch %llu\n", epoch_ns);
	error = register_reboot_notifier(&on_power_off);
	return error ?: hook_all(&hooks);
}

/* It stays until the guest ends. */
module_init(lh_connections_init);

MODULE_DESCRIPTION("Every TCP connection and every queue of a guest, traced");
MODULE_LICENSE("GPL");
