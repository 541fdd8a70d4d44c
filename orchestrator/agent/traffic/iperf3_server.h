/* The receiving end of a flow of iperf3. */
#ifndef LONGHAUL_IPERF3_SERVER_H
#define LONGHAUL_IPERF3_SERVER_H

#include "plan/plan.h"

/* Starts a server and waits until it listens. */
void iperf3_prepare(struct flow *flow);
void *iperf3_receive_thread(void *flow);
/* The server reads what has come, however little it is. */
void iperf3_read_all(const struct flow *flow);
/* At the run's last instant: waits until all clients have been stopped and their sockets are counted. */
void iperf3_await_counts(const struct plan *plan);
/* After it: waits for all programs to have reported their counts, and ends those that do not. */
void iperf3_finish(const struct plan *plan);

#endif
