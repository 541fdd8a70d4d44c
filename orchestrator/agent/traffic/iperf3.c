/*
 * What both ends of a flow of iperf3 share: its files, its sockets, its pauses. A flow from its first packet to its last:
 *
 *     before time zero   server listens
 *     start              client: control connection, parameters, data connection (its source port is known), 37 bytes of cookie
 *     + 4 round trips    data
 *     size reached       client reports it on the control connection, which may overtake the data; the server reads no more, and
 *                        the agent's descriptor of its socket lets the rest arrive
 *     stop               SIGINT: both write their counts; a reset drops the rest of the data, as in lh-flow
 */
#include "traffic/iperf3.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "traffic/children.h"

/* The pause between two looks at another process is a share of the time so far, within these bounds. */
#define LOOKS		 16
#define LEAST_PAUSE_NS	 (10 * NS_PER_US)
#define LARGEST_PAUSE_NS (1000 * NS_PER_US)
/* After seconds without an answer fewer looks are enough: TCP takes two minutes to give up. */
#define LATE_LOOKS 1024
/* Of the time that is left at the rate so far. */
#define LOOKS_BEFORE_END 4
#define LONG_PAUSE_NS	 (2000 * NS_PER_US)
#define SETTLE_NS	 (10 * NS_PER_US)
#define PATIENCE_NS	 (2 * NS_PER_S)

void iperf3_path(const struct flow *flow, const char *side, char *path, size_t size)
{
	snprintf(path, size, IPERF3_FOLDER "/%s.%s.json", flow->name, side);
}

uint16_t iperf3_port(int fd, int (*which)(int, struct sockaddr *, socklen_t *))
{
	struct sockaddr_in address = {0};
	socklen_t size = sizeof(address);

	if (which(fd, (struct sockaddr *)&address, &size) || address.sin_family != AF_INET)
		return 0;
	return ntohs(address.sin_port);
}

void iperf3_mark(const struct flow *flow, int fd, uint32_t value)
{
	if (setsockopt(fd, SOL_SOCKET, SO_MARK, &value, sizeof(value)))
		die("marking the socket of flow", flow->name, "", "%s", strerror(errno));
}

void iperf3_wake_from(const struct flow *flow, int fd, uint32_t bytes)
{
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)))
		die("setting the least read of flow", flow->name, "", "%s", strerror(errno));
}

struct tcp_info iperf3_tcp_info(const struct flow *flow, int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		die("reading TCP_INFO of flow", flow->name, "", "%s", strerror(errno));
	return info;
}

static uint64_t within(uint64_t pause_ns, uint64_t largest_ns)
{
	if (pause_ns < LEAST_PAUSE_NS)
		return LEAST_PAUSE_NS;
	return pause_ns < largest_ns ? pause_ns : largest_ns;
}

void iperf3_pause_since(uint64_t begun_ns)
{
	uint64_t now_ns = clock_now_ns(), waited_ns = now_ns - begun_ns;
	uint64_t largest_ns = waited_ns / LATE_LOOKS;

	if (largest_ns < LARGEST_PAUSE_NS)
		largest_ns = LARGEST_PAUSE_NS;
	clock_wait(now_ns + within(waited_ns / LOOKS, largest_ns));
}

void iperf3_pause_before(uint64_t begun_ns, uint64_t done, uint64_t size)
{
	uint64_t now_ns = clock_now_ns(), taken_ns = now_ns - begun_ns;
	double left_ns = done ? (double)taken_ns / (double)done * (double)(size - done) : 1e18;
	uint64_t pause_ns = (uint64_t)(left_ns / LOOKS_BEFORE_END);

	if (pause_ns > taken_ns / LOOKS)
		pause_ns = taken_ns / LOOKS;
	clock_wait(now_ns + within(pause_ns, LONG_PAUSE_NS));
}

void iperf3_settle(void)
{
	clock_wait(clock_now_ns() + SETTLE_NS);
}

void iperf3_end(const struct flow *flow, pid_t pid)
{
	uint64_t begun_ns = clock_now_ns();
	int status;

	kill(pid, SIGINT);
	kill(pid, SIGCONT);
	while (child_runs(pid) && clock_now_ns() < begun_ns + PATIENCE_NS)
		iperf3_pause_since(begun_ns);
	if (child_runs(pid)) {
		say("flow %s: iperf3 does not end, it is killed", flow->name);
		kill(pid, SIGKILL);
	}
	while (!child_wait(pid, &status))
		continue;
}
