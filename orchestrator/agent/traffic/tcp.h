/* TCP flows, and what flows of other kinds use of them: connections that send, end and count. */
#ifndef LONGHAUL_TCP_H
#define LONGHAUL_TCP_H

#include "plan/plan.h"

/* ---- the kind TCP (flows.c) ---- */

void tcp_prepare_receiver(struct flow *flow);
void tcp_prepare_sender(struct flow *flow);
void *tcp_send_thread(void *flow);
void *tcp_receive_thread(void *flow);
/* At the end of the run: what an unfinished sender and the receiver have counted so far. */
void tcp_count(struct flow *flow);

/* ---- one connection ---- */

/* A socket for a sender, in the node the thread is in. */
int tcp_sender(const struct flow *flow);
/* The options that a flow has at its sender, and at its receiver. */
void tcp_set_sender_options(const struct flow *flow, int fd);
void tcp_set_receiver_options(const struct flow *flow, int fd);
/* The sender's present connection, of a flow that has one after the other; -1: none. */
void tcp_set_present(struct flow *flow, int fd);
bool tcp_connect(struct flow *flow, int fd);
/* Sends so many bytes (NEVER: forever); false if interrupted or broken. */
bool tcp_send(struct flow *flow, int fd, uint64_t bytes);
/* Waits for the other side to have it all; false if interrupted or broken. */
bool tcp_wait_end(struct flow *flow, int fd);
void tcp_abort(int fd);
/* Lets the end of a socket be a reset. */
void tcp_forget(int fd);
/* Changes the sender's socket of a flow, connected or not yet; false if the flow is over. */
bool tcp_change(const struct change *change);
/* Compares the control and the pacing rate of a sender's socket that another program made with what was asked. */
void tcp_check(struct flow *flow, int fd);
/* Adds the kernel's counts of a sender's or a receiver's connection to the flow's. */
void tcp_account_sender(struct flow *flow, int fd);
void tcp_account_receiver(struct flow *flow, int fd);

#endif
