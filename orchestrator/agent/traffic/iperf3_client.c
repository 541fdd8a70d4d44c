/*
 * The client, and the agent's descriptor of its socket.
 *
 * While a client waits for the server's answer it asks again and again whether it may send; it may, so each time it looks at
 * the clock instead of sleeping. In virtual time each look moves the clock by 256 ns, so that a round trip takes some hundred
 * thousand of them. There the client is stopped (SIGSTOP) for that time; before that, it runs after everything else, packets on
 * their way included. Nothing else about it changes. It waits for a byte on its control connection:
 *
 *     PARAM_EXCHANGE  CREATE_STREAMS  |  data connection  |  TEST_START TEST_RUNNING  |  data  |  EXCHANGE_RESULTS
 */
#include "traffic/iperf3_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/clock.h"
#include "traffic/children.h"
#include "traffic/flow.h"
#include "traffic/iperf3.h"
#include "traffic/iperf3_report.h"
#include "traffic/iperf3_server.h"
#include "traffic/tcp.h"

#define MOST_WORDS 32
/* The longest time that a client is stopped before it may run for a moment. */
#define HOLD_MS	       100
#define LEAST_GRACE_NS (10 * NS_PER_US)
#define LONGER_GRACES  8

/* What the client was started with: a schedule may have changed its flow since. */
struct asked {
	const char *cc;
	uint64_t max_pacing_bps;
};

static bool is_data(int fd, const void *subject)
{
	return iperf3_port(fd, getsockname) == ((const struct flow *)subject)->client_port;
}

static bool is_control(int fd, const void *subject)
{
	return !is_data(fd, subject);
}

static pid_t start(const struct flow *flow, const struct asked *asked)
{
	char path[128], address[INET_ADDRSTRLEN], port[8], client_port[8], block[16], size[24],
		rate[24];
	/* -Z: pages of a file instead of copies. -t 0: without an end. */
	char *words[MOST_WORDS] = {"iperf3",
				   "-c",
				   address,
				   "-4",
				   "-p",
				   port,
				   "--cport",
				   client_port,
				   "-C",
				   (char *)asked->cc,
				   "-l",
				   block,
				   "-Z",
				   "-J",
				   "-i",
				   "0",
				   flow->bytes == NEVER ? "-t" : "-n",
				   size,
				   asked->max_pacing_bps ? "--fq-rate" : NULL,
				   rate};

	inet_ntop(AF_INET, &flow->address, address, sizeof(address));
	snprintf(port, sizeof(port), "%u", flow->port);
	snprintf(client_port, sizeof(client_port), "%u", flow->client_port);
	snprintf(block, sizeof(block), "%u", flow->block_bytes);
	snprintf(size, sizeof(size), "%llu",
		 flow->bytes == NEVER ? 0 : (unsigned long long)flow->bytes);
	snprintf(rate, sizeof(rate), "%llu", (unsigned long long)asked->max_pacing_bps);
	iperf3_path(flow, "client", path, sizeof(path));
	return child_start(flow->from, words, path, clock_is_virtual());
}

/* True as soon as there is something of this kind, false after a while without. */
static bool happens(int fd, short events)
{
	struct pollfd what = {.fd = fd, .events = events};

	return poll(&what, 1, HOLD_MS) > 0;
}

static bool still_runs(pid_t client)
{
	return !clock_interrupted() && child_runs(client);
}

/* The client's data socket, connected; -1 if the flow or the client ended before. */
static int await_connection(const struct flow *flow, pid_t client)
{
	uint64_t begun_ns = clock_now_ns();
	int fd;

	while ((fd = child_socket(client, is_data, flow)) < 0) {
		if (!still_runs(client))
			return -1;
		iperf3_pause_since(begun_ns);
	}
	while (still_runs(client) && !happens(fd, POLLOUT))
		continue;
	if (iperf3_port(fd, getpeername) == flow->port)
		return fd;
	close(fd);
	return -1;
}

/* Bytes that the program has written into the socket, but for the cookie. */
static int64_t written(const struct tcp_info *info)
{
	return (int64_t)(info->tcpi_bytes_sent - info->tcpi_bytes_retrans) +
	       info->tcpi_notsent_bytes - IPERF3_COOKIE_BYTES;
}

/* The same, none of them before the cookie is out. */
static uint64_t given(const struct tcp_info *info)
{
	int64_t bytes = written(info);

	return bytes > 0 ? (uint64_t)bytes : 0;
}

static bool has_sent_cookie(const struct flow *flow, int fd)
{
	struct tcp_info info = iperf3_tcp_info(flow, fd);

	return written(&info) >= 0;
}

/*
 * In virtual time, stops the client until a byte has come to its control connection, or it has sent more than `sent`. Now and
 * then it runs for a moment, at first longer each time, in case it was stopped before it had done all that it could.
 */
static void hold_until_answered(const struct flow *flow, pid_t client, int fd, uint64_t sent)
{
	int control = clock_is_virtual() ? child_socket(client, is_control, flow) : -1;
	bool answered = control < 0;

	for (int turn = 0; !answered && still_runs(client); turn++) {
		struct tcp_info info;

		kill(client, SIGSTOP);
		answered = happens(control, POLLIN);
		kill(client, SIGCONT);
		clock_wait(clock_now_ns() + (LEAST_GRACE_NS << (turn < LONGER_GRACES ? turn : 0)));
		info = iperf3_tcp_info(flow, fd);
		answered |= given(&info) > sent;
	}
	if (control >= 0)
		close(control);
}

/* From here on the agent changes and counts the socket too; what the schedule has changed since the start is set first. */
static void share(struct flow *flow, int fd, const struct asked *asked)
{
	struct change change = {.kind = CHANGE_FLOW, .flow = flow, .max_pacing_bps = NEVER};

	iperf3_mark(flow, fd, SENDER_MARK(flow));
	pthread_mutex_lock(&traffic_lock);
	flow->traffic->sender_fd = fd;
	flow->counters->connections++;
	if (flow->cc != asked->cc)
		change.cc = flow->cc;
	if (flow->max_pacing_bps != asked->max_pacing_bps)
		change.max_pacing_bps = flow->max_pacing_bps;
	pthread_mutex_unlock(&traffic_lock);
	if (change.cc || change.max_pacing_bps != NEVER)
		tcp_change(&change);
	tcp_check(flow, fd);
}

/* From the connection to the first byte of data. */
static void begin(struct flow *flow, pid_t client, int fd, const struct asked *asked)
{
	flow_connected(flow);
	while (still_runs(client) && !has_sent_cookie(flow, fd))
		iperf3_settle();
	/* It sets its socket after the cookie. */
	iperf3_settle();
	share(flow, fd, asked);
	hold_until_answered(flow, client, fd, 0);
}

/* iperf3 reports this as sent; the server may lack what is under way when it learns of the end. */
static void note_given(const struct flow *flow, const struct tcp_info *info)
{
	uint64_t bytes = given(info) + IPERF3_COOKIE_BYTES;

	flow->counters->bytes_given = given(info);
	flow->counters->bytes_under_way =
		bytes > info->tcpi_bytes_acked ? bytes - info->tcpi_bytes_acked : 0;
}

/* From the last byte of a size on. */
static void await_results(const struct flow *flow, pid_t client, int fd)
{
	uint64_t begun_ns = clock_now_ns();
	struct tcp_info info = iperf3_tcp_info(flow, fd);

	for (; given(&info) < flow->bytes; info = iperf3_tcp_info(flow, fd)) {
		if (!still_runs(client))
			return;
		iperf3_pause_before(begun_ns, given(&info), flow->bytes);
	}
	note_given(flow, &info);
	/* What the server has not read when it learns of the end it never reads. */
	iperf3_read_all(flow);
	hold_until_answered(flow, client, fd, flow->bytes);
}

static void count(struct flow *flow, int fd)
{
	struct tcp_info info = iperf3_tcp_info(flow, fd);

	tcp_account_sender(flow, fd);
	if (!flow->counters->bytes_given)
		note_given(flow, &info);
}

/* Where the size was reached, iperf3 ends by itself with code 0. */
static void judge_end(struct flow *flow, int status)
{
	if (flow->bytes == NEVER || !WIFEXITED(status) || WEXITSTATUS(status))
		flow_error(flow, "iperf3's client ended by itself with %s %d",
			   WIFEXITED(status) ? "code" : "signal",
			   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* The client does not wait for its last byte to arrive, the agent does; false if the flow's end came first. */
static bool wait_for_rest(struct flow *flow, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return tcp_wait_end(flow, fd);
}

/* The client until it has sent its size or the flow's time is over; true if it ended by itself. */
static bool live(struct flow *flow, pid_t client, int fd, const struct asked *asked, int *status)
{
	bool ended = false;

	if (fd >= 0)
		begin(flow, client, fd, asked);
	if (fd >= 0 && flow->bytes != NEVER)
		await_results(flow, client, fd);
	while (!ended && !clock_interrupted())
		ended = child_wait(client, status);
	return ended;
}

/* One that lasts is stopped already, and reports its counts after the run's counters have been read. */
static void stop(const struct flow *flow, pid_t client)
{
	pthread_mutex_lock(&traffic_lock);
	while (flow_lasts(flow) && !flow->traffic->run_over)
		pthread_cond_wait(&traffic_changed, &traffic_lock);
	pthread_mutex_unlock(&traffic_lock);
	iperf3_read_all(flow);
	iperf3_end(flow, client);
}

static void set_over(bool *what)
{
	pthread_mutex_lock(&traffic_lock);
	*what = true;
	pthread_cond_broadcast(&traffic_changed);
	pthread_mutex_unlock(&traffic_lock);
}

void *iperf3_send_thread(void *argument)
{
	struct flow *flow = argument;
	struct asked asked;
	int fd, status;
	pid_t client;
	bool ended, complete;

	clock_wait(flow->start_us * NS_PER_US);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	pthread_mutex_lock(&traffic_lock);
	asked = (struct asked){flow->cc, flow->max_pacing_bps};
	pthread_mutex_unlock(&traffic_lock);
	client = start(flow, &asked);
	fd = await_connection(flow, client);
	ended = live(flow, client, fd, &asked, &status);
	complete = ended && fd >= 0 && flow->bytes != NEVER && wait_for_rest(flow, fd);
	clock_interrupt_never();
	if (!ended)
		kill(client, SIGSTOP);
	set_over(&flow->traffic->over);
	if (fd >= 0)
		count(flow, fd);
	flow_stopped(flow);
	/* A path that lets no answer through, until the end or until TCP gives up, is a result. */
	if (ended && (fd >= 0 || !iperf3_gave_up(flow)))
		judge_end(flow, status);
	else if (!ended)
		stop(flow, client);
	if (complete)
		close(fd);
	else if (fd >= 0 && !flow_lasts(flow))
		tcp_abort(fd);
	set_over(&flow->traffic->client_over);
	return NULL;
}
