/*
 * Flows whose traffic iperf3 makes: each has its own server and client. iperf3 opens, writes and reads; the agent shares
 * its data sockets, so that it marks, counts, changes and ends them like those it makes.
 */
#ifndef LONGHAUL_IPERF3_H
#define LONGHAUL_IPERF3_H

#include <linux/tcp.h>
#include <sys/socket.h>

#include "plan/plan.h"

/* The folder of the programs' JSON, in the agent's working directory. */
#define IPERF3_FOLDER "iperf3"
/* What iperf3 sends first on each connection to name its test. */
#define IPERF3_COOKIE_BYTES 37

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
/* Sleeps until the programs have done all that they can do at this instant. */
void iperf3_settle(void);
/* Ends a program, which then reports its counts, and waits until it is gone. */
void iperf3_end(const struct flow *flow, pid_t pid);

#endif
