/*
 * Traffic. Each flow has a sending and a receiving thread; sockets are made beforehand, inside the
 * nodes. Threads block in as few and as long system calls as there can be.
 */
#ifndef LONGHAUL_FLOWS_H
#define LONGHAUL_FLOWS_H

#include <pthread.h>
#include <sys/types.h>

#include "plan/plan.h"

/* Which packets of a UDP flow have come: a bit for each of the last `size` (a power of two) before `next`. */
struct arrivals {
	uint64_t *bits, size, next;
};

/* What happened to a flow; written by its threads under traffic_lock. */
struct traffic {
	const struct plan *plan;
	int sender_fd, receiver_fd; /* sockets of the moment, -1 if none */
	int listener_fd;
	bool over;   /* the sender's socket is its thread's alone again: no change, no count */
	char cc[16]; /* as read from the socket */
	uint64_t connected_us, stopped_us, completed_us; /* NEVER until it happens */
	uint64_t bytes_sent, bytes_received;	 /* by the applications, repeats not counted */
	uint64_t packets_sent, packets_received; /* data packets, retransmissions counted */
	uint64_t connections, retransmits;
	uint64_t busy_us, rwnd_limited_us, sndbuf_limited_us;
	uint32_t min_rtt_us, mss;
	uint32_t window_clamp_bytes; /* as read from the listening socket */
	bool ecn;
	char error[160];
	struct arrivals arrivals; /* udp */
	/* iperf3 */
	pid_t server;
	bool run_over;		  /* its counters have been read */
	bool client_over;	  /* it has said what it counted */
	uint64_t bytes_given;	  /* by the program to its socket */
	uint64_t bytes_under_way; /* of those, not acknowledged then */
};

extern pthread_mutex_t traffic_lock;
/* A flow was connected, or a program of one has ended. */
extern pthread_cond_t traffic_changed;

/* Makes the sockets, in their nodes. */
void flows_prepare(struct plan *plan);
/* From here on sockets carry no mark: on a machine that is not ours marks may mean something. */
void flows_unmarked(void);
/* Whatever a sender still has in its buffers then goes nowhere when this process ends. */
void flows_abort(const struct plan *plan);
/* Starts the threads; they wait for the flows' own times. */
void flows_start(struct plan *plan);
/* By the real clock the end of the run comes to each thread when it comes: waits for the senders here, which count themselves. */
void flows_settle(const struct plan *plan);
/* At the end of the run: what receivers and unfinished senders have counted so far. */
void flows_count(struct plan *plan);

/* ---- for the kinds of flow ---- */

#define SENDER_MARK(flow)   ((flow)->id + 1)
#define RECEIVER_MARK(flow) (0x10000 + (flow)->id + 1)

/* When a flow ends at the latest: its stop or the end of the run. */
uint64_t flow_end_us(const struct flow *flow);
/* A flow that lasts until the end is left as it is, for the counters. */
bool flow_lasts(const struct flow *flow);
/* Keeps the first thing that went wrong. */
void flow_error(struct flow *flow, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes the time of an event and tells the probe. */
void flow_connected(struct flow *flow);
void flow_stopped(struct flow *flow);
void flow_completed(struct flow *flow);
/* A socket in the node the thread is in, with its mark. */
int flow_socket(int type, uint32_t mark);

void thread_start(void *(*run)(void *), void *argument);

/* tcp.c */
int tcp_listener(const struct flow *flow);
int tcp_sender(const struct flow *flow);
bool tcp_connect(struct flow *flow, int fd);
/* Changes the sender's socket of a flow, connected or not yet; false if the flow is over. */
bool tcp_change(const struct change *change);
/* The control and the pacing rate of a sender's socket that another program made, against what was asked. */
void tcp_check(struct flow *flow, int fd);
/* Adds what the kernel knows of a sender's or a receiver's connection to the flow's counts. */
void tcp_account_sender(struct flow *flow, int fd);
void tcp_account_receiver(struct flow *flow, int fd);
/* Sends so many bytes (NEVER: for ever); false if interrupted or broken. */
bool tcp_send(struct flow *flow, int fd, uint64_t bytes);
/* Waits for the other side to have it all; false if interrupted or broken. */
bool tcp_wait_end(struct flow *flow, int fd);
void tcp_abort(int fd);
/* Lets the end of a socket be a reset. */
void tcp_forget(int fd);
void *tcp_send_thread(void *flow);
void *tcp_receive_thread(void *flow);

/* web.c */
void *web_send_thread(void *flow);

/* udp.c */
void udp_prepare_sender(struct flow *flow);
void udp_prepare_receiver(struct flow *flow);
void udp_drain(struct flow *flow);
void *udp_send_thread(void *flow);
void *udp_receive_thread(void *flow);

#endif
