/*
 * Flows whose traffic iperf3 makes: a server and a client of their own for each. iperf3 opens, writes and reads; the agent shares
 * its data sockets, so that it marks, counts, changes and ends them like its own.
 */
#ifndef LONGHAUL_IPERF3_H
#define LONGHAUL_IPERF3_H

#include <linux/tcp.h>

#include "traffic/flows.h"
#include "trace/writer.h"

/* Where the programs' JSON goes, in the agent's working directory. */
#define IPERF3_FOLDER "iperf3"
/* What iperf3 sends ahead on each connection to say whose it is. */
#define IPERF3_COOKIE_BYTES 37

/* iperf3_server.c: starts a server and waits until it listens. */
void iperf3_prepare(struct flow *flow);
void *iperf3_receive_thread(void *flow);
/* At the run's last instant: until all clients have been stopped and what their sockets counted is known. */
void iperf3_await_counts(const struct plan *plan);
/* After it: waits for all programs to have said what they counted, and ends those that do not. */
void iperf3_finish(const struct plan *plan);
/* The server reads what has come, however little it is. */
void iperf3_read_all(const struct flow *flow);

/* iperf3_client.c */
void *iperf3_send_thread(void *flow);

/* iperf3_report.c: what the two of a flow say they counted, as an object of facts.json. */
void iperf3_write_report(struct writer *writer, const struct flow *flow);
/* Whether a client that ended says that nothing answered it for as long as TCP tries. */
bool iperf3_gave_up(const struct flow *flow);

/* ---- iperf3.c, for the files above ---- */

/* The name of a file of a flow: side is "client" or "server". */
void iperf3_path(const struct flow *flow, const char *side, char *path, size_t size);
/* The port at this end of a socket (getsockname) or at the other one (getpeername), 0 if it has none. */
uint16_t iperf3_port(int fd, int (*which)(int, struct sockaddr *, socklen_t *));
void iperf3_mark(const struct flow *flow, int fd, uint32_t value);
/* A socket that may be read from so many bytes on; at the end of the stream always. */
void iperf3_wake_from(const struct flow *flow, int fd, uint32_t bytes);
struct tcp_info iperf3_tcp_info(const struct flow *flow, int fd);
/* Sleeps until the next look at something that began at that time: the longer it takes, the longer. */
void iperf3_pause_since(uint64_t begun_ns);
/* The same for so many bytes of a size: longer where the end is far, so that it is not missed. */
void iperf3_pause_before(uint64_t begun_ns, uint64_t done, uint64_t size);
/* Sleeps until what the programs can do at this instant is done. */
void iperf3_settle(void);
/* Ends a program that has to say what it counted, and takes leave of it. */
void iperf3_end(const struct flow *flow, pid_t pid);

#endif
