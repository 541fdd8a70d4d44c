/*
 * run.json as structures: docs/run-directory.md is the reference. The second half of some
 * structures is what the agent adds while it runs (descriptors, indices, counters).
 */
#ifndef LONGHAUL_PLAN_H
#define LONGHAUL_PLAN_H

#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NEVER	       UINT64_MAX /* a time or size that is null */
#define QDISCS_PER_END 8
#define NO_LINK	       UINT32_MAX

struct pair { /* ["name", "value"] or "name": "value" */
	const char *name, *value;
};

struct node {
	const char *name;
	bool bridge;
	struct pair *sysctls;
	size_t sysctl_count;

	/* A node that is a real host: its address, its device, and the link that stands for the device's queue; NO_LINK: none. */
	struct in_addr host_address;
	const char *device;
	uint32_t link;
	bool elsewhere; /* another machine or part of the run has it */

	pid_t process; /* its namespace is that of this process; 0: the agent makes it */
	unsigned int bridge_index;
	int namespace_fd;
	int rtnl_fd; /* rtnetlink socket inside the namespace */
	int inet_fd; /* datagram socket inside the namespace, for ioctl */
	int snmp_fd; /* /proc/net/snmp of the namespace */
	const char **sysctls_read;
};

enum qdisc_kind {
	QDISC_NETEM,
	QDISC_TBF,
	QDISC_PFIFO,
	QDISC_BFIFO,
	QDISC_CODEL,
	QDISC_FQ_CODEL,
	QDISC_PIE,
	QDISC_RED,
	QDISC_CAKE,
	QDISC_DUALPI2,
	QDISC_LH_DCF,
	QDISC_LH_LINK,
	QDISC_CLSACT, /* no queue: the place of a filter */
	QDISC_KINDS
};

#define NO_OVERHEAD UINT32_MAX

/* Only the fields of its kind are set; the others are zero, so two can be compared as memory. */
struct qdisc {
	enum qdisc_kind kind;
	uint32_t handle, parent; /* major << 16 | minor, TC_H_ROOT */
	uint32_t limit;
	/* netem, lh_link */
	uint64_t delay_ns, jitter_ns, seed;
	bool keep_order, bursty_loss;
	uint32_t loss, duplicate, corrupt, reorder; /* shares of 2^32 */
	uint32_t gemodel[4];			    /* p, r, h, k */
	/* tbf, lh_dcf, lh_link */
	uint64_t rate_bps;
	uint32_t burst_bytes;
	/* AQM */
	uint32_t target_us, interval_us, flows, quantum;
	bool ecn;
	/* red */
	uint32_t min, max, max_p;
	uint8_t wlog, plog, scell_log, stab[256];
	/* cake, dualpi2 */
	uint32_t memory_bytes, rtt_us;
	/* cake, in the kernel's numbers; where it is not configured the kernel has its defaults */
	bool configured, split_gso;
	uint64_t shaper_bps; /* 0: none */
	uint8_t isolation, diffserv, ack_filter, cells;
	uint32_t overhead, mpu; /* NO_OVERHEAD: the Ethernet header counts */
	/* dualpi2: Hz / 256; the step is in packets or in us */
	uint32_t alpha, beta, step;
	bool step_in_packets, drop_overload, drop_early;
	uint8_t coupling, classic_percent;
	/* lh_dcf */
	uint32_t medium, overhead_bytes;
	uint64_t basic_rate_bps;
	bool rts, ht, one_receiver;
	uint8_t aggregate;
	/* lh_link: the limit counts bytes; packets leave the account of their socket */
	bool in_bytes, orphan;
	uint64_t police_bps; /* lh_link: 0, no policer */
	uint64_t peak_bps;   /* tbf, lh_link: 0, none */
	uint32_t peak_burst_bytes;
	uint32_t police_burst_bytes;
	/* clsact: ECT(0) leaves as ECT(1) */
	bool ect1;
};

struct end {
	struct node *node;
	const char *dev;
	struct ether_addr mac;
	struct in_addr address;
	uint8_t prefix;		   /* 0: no address, as on a bridge */
	struct ether_addr *behind; /* on a bridge: the hosts that are reached through it */
	size_t behind_count;
	/* As they are now: a schedule changes them. */
	uint32_t mtu;
	struct qdisc *qdiscs;
	size_t qdisc_count;

	bool offloads; /* the kernel may join and split segments */

	unsigned int index;
	bool offloads_off;
};

/* One table of the recorded link of a device: kmod/lh_link.h. */
struct recorded_table {
	struct end *end;
	uint32_t kind, rows, header_bytes;
	uint64_t length;  /* 0: it does not repeat */
	const char *file; /* of the run directory */
};

struct wire {
	struct end ends[2];
	/* One end is in another part of the run. */
	bool crosses;
	uint32_t peer, place; /* among the wires to that part */
	uint64_t delay_ns;    /* of what leaves the end that is here */
	uint64_t
		ahead_ns; /* how long before it arrives its links are given what comes: kmod/lh_wire.c */
};

/* A run in several guests: this one is one part of it, with wires to others. */
#define MOST_PEERS 16

struct part_peer {
	uint32_t number;
	uint32_t wires;
	uint64_t least_delay_ns; /* of the wires from it */
};

struct part {
	uint32_t number;
	struct part_peer peers[MOST_PEERS];
	size_t peer_count; /* 0: the run is in one guest */
	uint64_t window_ns, arena_bytes, seed;
	uint32_t spins;
};

struct route {
	struct node *node;
	struct in_addr to;
	uint8_t prefix;
	struct in_addr via;
	uint32_t initcwnd;   /* 0: the kernel's own */
	uint32_t cwnd_clamp; /* largest congestion window; 0: none */
	bool quickack;	     /* every segment is acknowledged at once */
};

struct neighbour {
	struct end *end;
	struct in_addr address;
	struct ether_addr mac;
};

struct link {
	uint32_t id;
	const char *name;
	struct end *end;
	uint32_t queue; /* handle */
};

/* A policer that the trace follows. */
struct policer {
	uint32_t id;
	const char *name;
	struct end *end;
};

struct module {
	const char *name;
	struct pair *params;
	size_t param_count;
	bool builtin; /* part of the kernel: no file, parameters through /sys/module */
};

enum flow_kind {
	FLOW_TCP,
	FLOW_UDP,
	FLOW_WEB,
	FLOW_PROGRAM,
	FLOW_REQUESTS,
	FLOW_PINGS,
	FLOW_IPERF3
};

/* What happened to a flow; its threads write it under traffic_lock (traffic/flow.h). */
struct flow_counters {
	char cc[16];					 /* as read from the socket */
	uint64_t connected_us, stopped_us, completed_us; /* NEVER until it happens */
	uint64_t bytes_sent, bytes_received;	 /* by the applications, repeats not counted */
	uint64_t packets_sent, packets_received; /* data packets, retransmissions counted */
	uint64_t connections, retransmits;
	uint64_t busy_us, rwnd_limited_us, sndbuf_limited_us;
	uint32_t min_rtt_us, mss;
	uint32_t window_clamp_bytes; /* as read from the listening socket */
	bool ecn, accurate_ecn;
	/* CE marks: those the sender has heard of, and those its receiver saw; a kernel without the second counts NEVER */
	uint64_t marks_reported, marks_received;
	char error[160];
	uint64_t requests_sent, requests_completed, requests_served;
	uint64_t rounds_completed;	  /* of its barrier */
	uint8_t dscp_sent, dscp_received; /* as read from the sockets of both ends */
	/* iperf3 */
	uint64_t bytes_given;	  /* by the program to its socket */
	uint64_t bytes_under_way; /* of those, not acknowledged then */
	/* program */
	uint64_t delivered;	 /* packets that were acknowledged */
	uint64_t bytes_backward; /* against the direction that is measured */
	uint64_t bytes_unseen;	 /* sent when the probe sees no ACK */
	struct port_pair *ports; /* of its connections, as far as they are listed */
	size_t port_count;
};

struct port_pair {
	uint16_t sender, receiver;
};

/* What runs at the two ends of a flow of a program, and as how many flows its connections count. */
struct programs {
	char **server, **client;
	const char *folder; /* where both start; NULL: an empty one */
	bool server_sends;
	uint32_t connections;
	struct in_addr server_address, client_address;
};

/* What a client asks for, again and again: after a pause, or at multiples of an interval. */
struct requests {
	uint64_t request_bytes, response_bytes;
	uint64_t think_us, every_us, count; /* every_us 0: none; count NEVER: until the end */
	bool new_connection;
	uint64_t timeout_us; /* over UDP; 0: over TCP */
	bool barrier;	     /* the clients of the group ask at once, and wait for each other */
};

/* A socket option of a sender, as its user asks for it. */
struct socket_option {
	int level, name, value;
};

struct flow {
	uint32_t id;
	const char *name;
	enum flow_kind kind;
	const char *cc; /* as asked for now: a schedule replaces it; NULL for udp */
	struct node *from, *to;
	struct in_addr address;
	uint16_t port;
	uint64_t start_us, stop_us, bytes; /* NEVER if null */
	uint64_t seed;
	uint64_t max_pacing_bps;
	uint32_t window_clamp_bytes;
	bool both_ends; /* the receiver takes part in the congestion control */
	uint8_t ect;	/* udp: the ECN bits of its packets */
	uint8_t dscp;	/* the other six bits of that field, at both ends */
	struct socket_option *sockopts;
	size_t sockopt_count;
	uint64_t rate_bps; /* udp */
	uint32_t payload_bytes;
	uint64_t on_us, off_us;	       /* udp; both 0: always on */
	uint64_t mean_bytes, think_us; /* web */
	uint32_t shape_milli;
	uint16_t client_port;	   /* iperf3: the data connection's source port */
	uint32_t block_bytes;	   /* iperf3: written at once; a stream of a group: taken at once */
	const char *group;	   /* of streams that share bytes, or of requests; NULL: none */
	struct requests *requests; /* requests */
	struct programs *program;  /* program; NULL for its second connection and so on */

	struct flow_counters *counters;
	struct traffic *traffic; /* its sockets (traffic/flow.h) */
};

enum change_kind { CHANGE_DEVICE, CHANGE_MODULE, CHANGE_FLOW };

struct change {
	uint64_t at_us;
	enum change_kind kind;
	/* device */
	struct end *end;
	struct qdisc *qdiscs;
	size_t qdisc_count;
	uint32_t mtu; /* 0: as it is */
	/* module: only its name and parameters */
	struct module module;
	/* flow */
	struct flow *flow;
	const char *cc;		 /* NULL: as it is */
	uint64_t max_pacing_bps; /* NEVER: as it is; 0: none */
};

struct plan {
	bool on_host;	    /* others use this kernel too: what it has only once is left as it is */
	bool real_clock;    /* time runs while the agent works; the trace is sampled, not probed */
	bool resets_at_end; /* flows that last until the end are cut off there */
	uint64_t duration_us, seed;
	struct part part;
	struct pair *sysctls; /* of the whole guest */
	struct pair *knobs;   /* files that a user's module makes: path, value */
	size_t knob_count;
	size_t sysctl_count;
	struct node *nodes;
	size_t node_count;
	struct wire *wires;
	size_t wire_count;
	struct neighbour *neighbours;
	size_t neighbour_count;
	struct route *routes;
	size_t route_count;
	struct link *links;
	size_t link_count;
	struct policer *policers;
	size_t policer_count;
	struct module *modules;
	size_t module_count;
	struct recorded_table *recordings;
	size_t recording_count;
	struct flow *flows;
	size_t flow_count;
	struct change *schedule;
	size_t change_count;
	uint32_t trace_ack_us, trace_tick_us;
	bool trace_departures; /* each packet that leaves a link with two queues */
	bool trace_decisions;  /* each packet that comes to a policer */
};

#endif
