/*
 * A flow of iperf3 from its first packet to its last:
 *
 *     before time zero   server listens
 *     start              client: control connection, parameters, data connection (its source port is known), 37 bytes of cookie
 *     + 4 round trips    data
 *     size reached       client says so on the control connection, which may overtake the data; the server reads no more, the
 *                        agent's share of its socket lets the rest arrive
 *     stop               SIGINT: both write what they counted; a reset takes the rest of the data back, as in lh-flow
 *
 * The client looks again and again whether it may send while it waits for the server's word, and each look moves the
 * virtual clock by 256 ns: hundreds of thousands of looks a round trip. It is stopped for that time; nothing else of it changes.
 */
#include "iperf3.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "clock.h"
#include "die.h"

#define STATE_ESTABLISHED 1 /* include/net/tcp_states.h is not for programs */

/* Looks at another process come after a share of the time it has taken so far, within these bounds. */
#define LOOKS		 16
#define LEAST_PAUSE_NS	 (50 * NS_PER_US)
#define LARGEST_PAUSE_NS (1000 * NS_PER_US)
/* From its connection on a client writes, in no time, all that it has to say before it waits. */
#define SETTLE_NS	  (20 * NS_PER_US)
#define WHILE_MS	  100
#define PATIENCE_NS	  (2 * NS_PER_S)
#define WORDS_OF_A_CLIENT 32

void iperf3_path(const struct flow *flow, const char *side, char *path, size_t size)
{
	snprintf(path, size, IPERF3_FOLDER "/%s.%s.json", flow->name, side);
}

/* Some client has made its data connection. */
static pthread_cond_t connected = PTHREAD_COND_INITIALIZER;

/* ---- sockets of theirs ---- */

static uint16_t port_of(int fd, int (*which)(int, struct sockaddr *, socklen_t *))
{
	struct sockaddr_in address = {0};
	socklen_t size = sizeof(address);

	if (which(fd, (struct sockaddr *)&address, &size) || address.sin_family != AF_INET)
		return 0;
	return ntohs(address.sin_port);
}

static bool is_listener(int fd, const void *subject)
{
	const struct flow *flow = subject;
	int listens = 0;
	socklen_t size = sizeof(listens);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens &&
	       port_of(fd, getsockname) == flow->port;
}

static bool is_data_of_client(int fd, const void *subject)
{
	return port_of(fd, getsockname) == ((const struct flow *)subject)->client_port;
}

static bool is_data_of_server(int fd, const void *subject)
{
	return port_of(fd, getpeername) == ((const struct flow *)subject)->client_port;
}

static bool is_control_of_client(int fd, const void *subject)
{
	return !is_data_of_client(fd, subject);
}

static void mark(const struct flow *flow, int fd, uint32_t value)
{
	if (setsockopt(fd, SOL_SOCKET, SO_MARK, &value, sizeof(value)))
		die("marking the socket of flow", flow->name, "", "%s", strerror(errno));
}

static void wake_from(const struct flow *flow, int fd, uint32_t bytes)
{
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)))
		die("setting the least read of flow", flow->name, "", "%s", strerror(errno));
}

static struct tcp_info info_of(const struct flow *flow, int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		die("reading TCP_INFO of flow", flow->name, "", "%s", strerror(errno));
	return info;
}

/* What the program has written into the socket, but for the cookie. */
static int64_t written(const struct flow *flow, int fd)
{
	struct tcp_info info = info_of(flow, fd);

	return (int64_t)(info.tcpi_bytes_sent - info.tcpi_bytes_retrans) + info.tcpi_notsent_bytes -
	       IPERF3_COOKIE_BYTES;
}

/* Sleeps until the next look at something that began at that time. */
static void pause_since(uint64_t begun_ns)
{
	uint64_t now_ns = clock_now_ns(), pause_ns = (now_ns - begun_ns) / LOOKS;

	if (pause_ns < LEAST_PAUSE_NS)
		pause_ns = LEAST_PAUSE_NS;
	if (pause_ns > LARGEST_PAUSE_NS)
		pause_ns = LARGEST_PAUSE_NS;
	clock_wait(now_ns + pause_ns);
}

/* ---- server ---- */

void iperf3_prepare(struct flow *flow)
{
	char path[128], port[8], address[INET_ADDRSTRLEN];
	char *words[] = {"iperf3",
			 "-s",
			 "-1",
			 "-4",
			 "-B",
			 address,
			 "-p",
			 port,
			 "-J",
			 "-i",
			 "0", /* a blackout is no reason to give up */
			 "--rcv-timeout",
			 "86400000",
			 NULL};
	struct traffic *traffic = flow->traffic;
	int listener;

	snprintf(port, sizeof(port), "%u", flow->port);
	inet_ntop(AF_INET, &flow->address, address, sizeof(address));
	iperf3_path(flow, "server", path, sizeof(path));
	traffic->server = child_start(flow->to, words, path);
	while ((listener = child_socket(traffic->server, is_listener, flow)) < 0) {
		if (!child_runs(traffic->server))
			die("starting iperf3's server of flow", flow->name,
			    "its JSON and the console log may say why", "it ended at once");
		clock_wait(clock_now_ns() + LEAST_PAUSE_NS);
	}
	close(listener);
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
		struct tcp_info info = info_of(flow, fd);

		if (info.tcpi_bytes_received >= flow->bytes + IPERF3_COOKIE_BYTES) {
			flow_completed(flow);
			return;
		}
		if (info.tcpi_state != STATE_ESTABLISHED)
			return;
		pause_since(begun_ns);
	}
}

/* What the server has left unread when it was told of the end; nothing waits in a connection that is closed. */
static void drain(int fd)
{
	while (recv(fd, NULL, 1u << 30, MSG_TRUNC | MSG_DONTWAIT) > 0)
		continue;
}

/* The client's socket is connected half a round trip before the server's. */
static void wait_for_connection(const struct flow *flow)
{
	pthread_mutex_lock(&traffic_lock);
	while (flow->traffic->connected_us == NEVER)
		pthread_cond_wait(&connected, &traffic_lock);
	pthread_mutex_unlock(&traffic_lock);
}

void *iperf3_receive_thread(void *argument)
{
	struct flow *flow = argument;
	struct traffic *traffic = flow->traffic;
	uint64_t begun_ns;
	int fd;

	wait_for_connection(flow);
	begun_ns = clock_now_ns();
	while ((fd = child_socket(traffic->server, is_data_of_server, flow)) < 0) {
		if (!child_runs(traffic->server) ||
		    clock_now_ns() >= traffic->plan->duration_us * NS_PER_US)
			return NULL;
		pause_since(begun_ns);
	}
	mark(flow, fd, RECEIVER_MARK(flow));
	/* As in tcp.c: a reader that wakes for each segment costs more than the segment. */
	wake_from(flow, fd, WAKE_BYTES);
	pthread_mutex_lock(&traffic_lock);
	traffic->receiver_fd = fd;
	pthread_mutex_unlock(&traffic_lock);
	if (flow->bytes != NEVER)
		wait_for_all(flow, fd);
	wait_for_end(fd);
	tcp_account_receiver(flow, fd);
	pthread_mutex_lock(&traffic_lock);
	traffic->receiver_fd = -1;
	pthread_mutex_unlock(&traffic_lock);
	drain(fd);
	close(fd);
	return NULL;
}

/* ---- client ---- */

static pid_t start_client(const struct flow *flow)
{
	char path[128], address[INET_ADDRSTRLEN], port[8], client_port[8], block[16], size[24],
		rate[24];
	char *words[WORDS_OF_A_CLIENT] = {
		"iperf3", "-c", address, "-4", "-p", port, "--cport", client_port, "-C",
		(char *)flow->cc, "-l", block,
		/* Pages of a file instead of copies: half the price of a packet. */
		"-Z", "-J", "-i", "0", flow->bytes == NEVER ? "-t" : "-n", size};

	inet_ntop(AF_INET, &flow->address, address, sizeof(address));
	snprintf(port, sizeof(port), "%u", flow->port);
	snprintf(client_port, sizeof(client_port), "%u", flow->client_port);
	snprintf(block, sizeof(block), "%u", flow->block_bytes);
	/* -t 0 has no end. */
	snprintf(size, sizeof(size), "%llu",
		 flow->bytes == NEVER ? 0 : (unsigned long long)flow->bytes);
	if (flow->max_pacing_bps) {
		size_t count = 0;

		while (words[count])
			count++;
		snprintf(rate, sizeof(rate), "%llu", (unsigned long long)flow->max_pacing_bps);
		words[count++] = "--fq-rate";
		words[count] = rate;
	}
	iperf3_path(flow, "client", path, sizeof(path));
	return child_start(flow->from, words, path);
}

/* True as soon as there is something of this kind, false after a while without. */
static bool happens(int fd, short events)
{
	struct pollfd what = {.fd = fd, .events = events};

	return poll(&what, 1, WHILE_MS) > 0;
}

/*
 * Stops the client while it has nothing to do but to wait for so many bytes on its control connection; false if it has none yet.
 * Every while it may go on, should it have been stopped before it had said all that it had to say.
 */
static bool hold_until_told(struct flow *flow, pid_t client, uint32_t bytes)
{
	int control = child_socket(client, is_control_of_client, flow);
	bool told = false;

	if (control < 0)
		return false;
	while (!clock_interrupted() && !happens(control, POLLOUT))
		continue;
	clock_wait(clock_now_ns() + SETTLE_NS);
	wake_from(flow, control, bytes);
	while (!told && !clock_interrupted() && child_runs(client)) {
		kill(client, SIGSTOP);
		told = happens(control, POLLIN);
		if (told)
			wake_from(flow, control, 1);
		kill(client, SIGCONT);
		clock_wait(clock_now_ns() + SETTLE_NS);
	}
	close(control);
	return true;
}

/* The client's data socket, connected; -1 if the flow or the client ended before. */
static int await_connection(struct flow *flow, pid_t client)
{
	uint64_t begun_ns = clock_now_ns();
	int fd;

	while ((fd = child_socket(client, is_data_of_client, flow)) < 0) {
		if (clock_interrupted() || !child_runs(client))
			return -1;
		if (!hold_until_told(flow, client, 1))
			pause_since(begun_ns);
	}
	while (!clock_interrupted() && !happens(fd, POLLOUT))
		continue;
	if (port_of(fd, getpeername) == flow->port)
		return fd;
	close(fd);
	return -1;
}

/* What the schedule said while there was no socket; what it did not touch has to be as the client was told. */
static void share_socket(struct flow *flow, int fd, const char *asked_cc, uint64_t asked_bps)
{
	struct traffic *traffic = flow->traffic;
	struct change change = {.kind = CHANGE_FLOW, .flow = flow, .max_pacing_bps = NEVER};

	mark(flow, fd, SENDER_MARK(flow));
	pthread_mutex_lock(&traffic_lock);
	traffic->sender_fd = fd;
	traffic->connections++;
	change.cc = flow->cc != asked_cc ? flow->cc : NULL;
	if (flow->max_pacing_bps != asked_bps)
		change.max_pacing_bps = flow->max_pacing_bps;
	pthread_mutex_unlock(&traffic_lock);
	if (change.cc || change.max_pacing_bps != NEVER)
		tcp_change(&change);
	tcp_check(flow, fd);
}

/* From the connection to the first byte of data. */
static void begin(struct flow *flow, pid_t client, int fd, const char *asked_cc, uint64_t asked_bps)
{
	flow_connected(flow);
	pthread_cond_broadcast(&connected);
	while (written(flow, fd) < 0 && child_runs(client) && !clock_interrupted())
		clock_wait(clock_now_ns() + SETTLE_NS);
	clock_wait(clock_now_ns() + SETTLE_NS);
	share_socket(flow, fd, asked_cc, asked_bps);
	/* TEST_START and TEST_RUNNING, a byte each. */
	hold_until_told(flow, client, 2);
}

/* A client that has written its last byte waits for the server to exchange results. */
static void hold_at_its_end(struct flow *flow, pid_t client, int fd)
{
	uint64_t begun_ns = clock_now_ns();

	while (written(flow, fd) < (int64_t)flow->bytes) {
		if (clock_interrupted() || !child_runs(client))
			return;
		pause_since(begun_ns);
	}
	clock_wait(clock_now_ns() + SETTLE_NS);
	hold_until_told(flow, client, 1);
}

/* Ends a program that has to say what it counted. */
static void end_program(const struct flow *flow, pid_t pid)
{
	uint64_t begun_ns = clock_now_ns();
	int status;

	kill(pid, SIGINT);
	while (child_runs(pid) && clock_now_ns() < begun_ns + PATIENCE_NS)
		pause_since(begun_ns);
	if (child_runs(pid)) {
		say("flow %s: iperf3 does not end, it is killed", flow->name);
		kill(pid, SIGKILL);
	}
	while (!child_wait(pid, &status))
		continue;
}

/* Where the size was reached, iperf3 ends by itself, and well. */
static void judge_end(struct flow *flow, int status)
{
	if (flow->bytes == NEVER || !WIFEXITED(status) || WEXITSTATUS(status))
		flow_error(flow,
			   "iperf3's client ended by itself with status %d; its JSON says why",
			   WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

void *iperf3_send_thread(void *argument)
{
	struct flow *flow = argument;
	struct traffic *traffic = flow->traffic;
	const char *asked_cc;
	uint64_t asked_bps;
	bool ended = false;
	int fd, status;
	pid_t client;

	clock_wait(flow->start_us * NS_PER_US);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	pthread_mutex_lock(&traffic_lock);
	asked_cc = flow->cc;
	asked_bps = flow->max_pacing_bps;
	pthread_mutex_unlock(&traffic_lock);
	client = start_client(flow);
	fd = await_connection(flow, client);
	if (fd >= 0)
		begin(flow, client, fd, asked_cc, asked_bps);
	if (fd >= 0 && flow->bytes != NEVER)
		hold_at_its_end(flow, client, fd);
	while (!ended && !clock_interrupted())
		ended = child_wait(client, &status);
	clock_interrupt_never();
	pthread_mutex_lock(&traffic_lock);
	traffic->over = true;
	pthread_mutex_unlock(&traffic_lock);
	if (fd >= 0)
		tcp_account_sender(flow, fd);
	else
		flow_error(flow, "iperf3's client made no data connection before its end");
	if (fd >= 0)
		traffic->bytes_given = (uint64_t)written(flow, fd);
	flow_stopped(flow);
	if (ended)
		judge_end(flow, status);
	else
		end_program(flow, client);
	if (fd >= 0 && ended)
		close(fd);
	else if (fd >= 0 && !flow_lasts(flow))
		tcp_abort(fd);
	pthread_mutex_lock(&traffic_lock);
	traffic->client_over = true;
	pthread_mutex_unlock(&traffic_lock);
	return NULL;
}

/* ---- the end ---- */

static bool client_over(const struct flow *flow)
{
	bool over;

	pthread_mutex_lock(&traffic_lock);
	over = flow->traffic->client_over;
	pthread_mutex_unlock(&traffic_lock);
	return over;
}

void iperf3_finish(const struct plan *plan)
{
	for (size_t i = 0; i < plan->flow_count; i++) {
		const struct flow *flow = &plan->flows[i];
		uint64_t begun_ns = clock_now_ns();

		if (flow->kind != FLOW_IPERF3)
			continue;
		while (flow->start_us < flow_end_us(flow) && !client_over(flow) &&
		       clock_now_ns() < begun_ns + 2 * PATIENCE_NS)
			pause_since(begun_ns);
		end_program(flow, flow->traffic->server);
	}
}
