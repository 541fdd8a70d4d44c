/* What flows of all kinds share: sockets with their marks, times, events, the first error. */
#ifndef LONGHAUL_FLOW_H
#define LONGHAUL_FLOW_H

#include <pthread.h>
#include <sys/types.h>

#include "plan/plan.h"

/* Which packets of a UDP flow have come: a bit for each of the last `size` (a power of two) before `next`. */
struct arrivals {
	uint64_t *bits, size, next;
};

/* A flow while it runs; its threads write it under traffic_lock. */
struct traffic {
	const struct plan *plan;
	int sender_fd, receiver_fd; /* the present sockets, -1 if none */
	int listener_fd;
	bool over;    /* the sender's socket is left to its thread again: no change, no count */
	bool counted; /* the present socket: the run and the sender's thread may end at one instant */
	struct arrivals arrivals;  /* udp */
	struct transfer *transfer; /* of several streams; NULL: the flow has its bytes for itself */
	struct barrier *barrier;   /* of several clients; NULL: the client asks by itself */
	size_t place;		   /* at the barrier */
	/* iperf3 */
	uint32_t cookie_bytes; /* of a connection, ahead of the data */
	pid_t server;
	bool run_over;	  /* its counters have been read */
	bool client_over; /* it has reported its counts */
	/* program */
	pid_t client;
	int gate; /* the client waits for its other end to close */
};

extern pthread_mutex_t traffic_lock;
/* A flow was connected, or a program of one has ended. */
extern pthread_cond_t traffic_changed;

#define SENDER_MARK(flow)   ((flow)->id + 1)
#define RECEIVER_MARK(flow) (0x10000 + (flow)->id + 1)

/* From here on sockets carry no mark: on another's machine marks may mean something. */
void flows_unmarked(void);
/* A socket in the node the thread is in, with its mark. */
int flow_socket(int type, uint32_t mark);

/* Sets the options that the plan has for the sender's socket, and reads each back. */
void flow_set_options(const struct flow *flow, int fd);

/* Sets the DSCP of the plan; the ECN field of TCP is the kernel's, of UDP the plan's. */
void flow_set_dscp(const struct flow *flow, int fd);
/* The DSCP of a socket's packets. */
uint8_t flow_read_dscp(struct flow *flow, int fd);

/* When a flow ends at the latest: its stop or the end of the run. */
uint64_t flow_end_us(const struct flow *flow);
/* A flow that lasts until the end is left as it is, for the counters. */
bool flow_lasts(const struct flow *flow);
/* Keeps the first thing that went wrong. */
void flow_error(struct flow *flow, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes the time of an event and passes it to the probe. */
void flow_connected(struct flow *flow);
void flow_stopped(struct flow *flow);
/* The same event of a flow that stopped with the run. */
void flow_note_end(const struct flow *flow);
void flow_completed(struct flow *flow);

#endif
