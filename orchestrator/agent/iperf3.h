/*
 * Flows whose traffic iperf3 makes: a server and a client of their own for each. iperf3 opens, writes and reads; the agent shares
 * its data sockets, so that it marks, counts, changes and ends them like its own.
 */
#ifndef LONGHAUL_IPERF3_H
#define LONGHAUL_IPERF3_H

#include "flows.h"
#include "writer.h"

/* Where the programs' JSON goes, in the agent's working directory. */
#define IPERF3_FOLDER "iperf3"
/* What iperf3 sends ahead on each connection to say whose it is. */
#define IPERF3_COOKIE_BYTES 37

/* Starts the server and waits until it listens. */
void iperf3_prepare(struct flow *flow);
void *iperf3_send_thread(void *flow);
void *iperf3_receive_thread(void *flow);
/* After the run's last instant: waits for all programs to have said what they counted, and ends those that do not. */
void iperf3_finish(const struct plan *plan);
/* iperf3_report.c: what the two of a flow say they counted, as an object of facts.json. */
void iperf3_write_report(struct writer *writer, const struct flow *flow);
/* The name of a file of a flow: side is "client" or "server". */
void iperf3_path(const struct flow *flow, const char *side, char *path, size_t size);

#endif
