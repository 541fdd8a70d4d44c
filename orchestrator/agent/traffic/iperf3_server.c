/* The server, and the agent's descriptor of the socket that it accepts. */
#include "traffic/iperf3_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "traffic/children.h"
#include "traffic/flow.h"
#include "traffic/iperf3.h"
#include "traffic/tcp.h"

#define STATE_ESTABLISHED 1 /* include/net/tcp_states.h is not for programs */

/* As in tcp.c: a reader that wakes for each segment costs more than the segment. iperf3 reads a block of a megabyte at once. */
#define READ_BYTES (1u << 20)
/* What is left unread is dropped in pieces of this size. */
#define DRAIN_BYTES (1u << 30)

static bool is_listener(int fd, const void *subject)
{
	const struct flow *flow = subject;
	int listens = 0;
	socklen_t size = sizeof(listens);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens &&
	       iperf3_port(fd, getsockname) == flow->port;
}

static bool is_data(int fd, const void *subject)
{
	return iperf3_port(fd, getpeername) == ((const struct flow *)subject)->client_port;
}

void iperf3_prepare(struct flow *flow)
{
	char path[128], port[8], address[INET_ADDRSTRLEN];
	/* A blackout of any length is no reason to give up. */
	char *words[] = {"iperf3",   "-s", "-1", "-4", "-B", address,
			 "-p",	     port, "-J", "-i", "0",  "--rcv-timeout",
			 "86400000", NULL};
	struct traffic *traffic = flow->traffic;
	int listener;

	traffic->cookie_bytes = IPERF3_COOKIE_BYTES;
	snprintf(port, sizeof(port), "%u", flow->port);
	inet_ntop(AF_INET, &flow->address, address, sizeof(address));
	iperf3_path(flow, "server", path, sizeof(path));
	traffic->server = child_start(flow->to, words, path, false);
	while ((listener = child_socket(traffic->server, is_listener, flow)) < 0) {
		if (!child_runs(traffic->server))
			die("starting iperf3's server of flow", flow->name,
			    "the console log may say why", "it ended at once");
		iperf3_settle();
	}
	close(listener);
}

/* The client's socket is connected half a round trip before the server's; before that there is nothing to look for. */
static bool wait_for_connection(const struct flow *flow)
{
	bool connected;

	pthread_mutex_lock(&traffic_lock);
	while (flow->counters->connected_us == NEVER && !flow->traffic->client_over)
		pthread_cond_wait(&traffic_changed, &traffic_lock);
	connected = flow->counters->connected_us != NEVER;
	pthread_mutex_unlock(&traffic_lock);
	return connected;
}

/* The server's data socket, -1 if the server ended without one. */
static int await_socket(const struct flow *flow)
{
	uint64_t begun_ns = clock_now_ns();
	int fd;

	while ((fd = child_socket(flow->traffic->server, is_data, flow)) < 0) {
		if (!child_runs(flow->traffic->server))
			return -1;
		iperf3_pause_since(begun_ns);
	}
	return fd;
}

/* Until the other side has ended the connection, or reset it. */
static void wait_for_end(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLRDHUP};

	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		continue;
}

static void wait_for_all(struct flow *flow, int fd)
{
	uint64_t begun_ns = clock_now_ns();

	for (;;) {
		struct tcp_info info = iperf3_tcp_info(flow, fd);

		if (info.tcpi_bytes_received >= flow->bytes + IPERF3_COOKIE_BYTES) {
			flow_completed(flow);
			return;
		}
		if (info.tcpi_state != STATE_ESTABLISHED)
			return;
		iperf3_pause_before(begun_ns, info.tcpi_bytes_received,
				    flow->bytes + IPERF3_COOKIE_BYTES);
	}
}

/* Reads what the server left unread when it learned of the end: a socket closed before would send a reset. */
static void drain(int fd)
{
	while (recv(fd, NULL, DRAIN_BYTES, MSG_TRUNC | MSG_DONTWAIT) > 0)
		continue;
}

/* The cookie alone would not wake a server that waits for more. */
static void await_data(const struct flow *flow, int fd)
{
	uint64_t begun_ns = clock_now_ns();
	struct tcp_info info = iperf3_tcp_info(flow, fd);

	while (info.tcpi_bytes_received <= IPERF3_COOKIE_BYTES &&
	       info.tcpi_state == STATE_ESTABLISHED) {
		iperf3_pause_since(begun_ns);
		info = iperf3_tcp_info(flow, fd);
	}
}

static void set_receiver(struct flow *flow, int fd)
{
	pthread_mutex_lock(&traffic_lock);
	flow->traffic->receiver_fd = fd;
	pthread_mutex_unlock(&traffic_lock);
}

void *iperf3_receive_thread(void *argument)
{
	struct flow *flow = argument;
	int fd = wait_for_connection(flow) ? await_socket(flow) : -1;

	if (fd < 0)
		return NULL;
	iperf3_mark(flow, fd, RECEIVER_MARK(flow));
	set_receiver(flow, fd);
	await_data(flow, fd);
	iperf3_wake_from(flow, fd, READ_BYTES);
	if (flow->bytes != NEVER)
		wait_for_all(flow, fd);
	wait_for_end(fd);
	tcp_account_receiver(flow, fd);
	set_receiver(flow, -1);
	drain(fd);
	close(fd);
	return NULL;
}

void iperf3_read_all(const struct flow *flow)
{
	pthread_mutex_lock(&traffic_lock);
	if (flow->traffic->receiver_fd >= 0)
		iperf3_wake_from(flow, flow->traffic->receiver_fd, 1);
	pthread_mutex_unlock(&traffic_lock);
}

/* Whether a flow has had a client. */
static bool had_client(const struct flow *flow)
{
	return flow->kind == FLOW_IPERF3 && flow->start_us < flow_end_us(flow);
}

void iperf3_await_counts(const struct plan *plan)
{
	pthread_mutex_lock(&traffic_lock);
	for (size_t i = 0; i < plan->flow_count; i++)
		while (had_client(&plan->flows[i]) && !plan->flows[i].traffic->over)
			pthread_cond_wait(&traffic_changed, &traffic_lock);
	pthread_mutex_unlock(&traffic_lock);
}

void iperf3_finish(const struct plan *plan)
{
	pthread_mutex_lock(&traffic_lock);
	for (size_t i = 0; i < plan->flow_count; i++)
		plan->flows[i].traffic->run_over = true;
	pthread_cond_broadcast(&traffic_changed);
	for (size_t i = 0; i < plan->flow_count; i++)
		while (had_client(&plan->flows[i]) && !plan->flows[i].traffic->client_over)
			pthread_cond_wait(&traffic_changed, &traffic_lock);
	pthread_mutex_unlock(&traffic_lock);
	for (size_t i = 0; i < plan->flow_count; i++)
		if (plan->flows[i].kind == FLOW_IPERF3)
			iperf3_end(&plan->flows[i], plan->flows[i].traffic->server);
}
