/*
 * A client that sends a request, waits for the whole response, and asks again after a pause or at the next multiple of an
 * interval. It keeps its connection, or opens one for each request; then the server ends each with its response, as in
 * HTTP/1.0, so that no port of the client has to wait before it is used again. Both ends send without Nagle's delay, as
 * programs of this kind do. Each completed request is an event of the trace, with its time in nanoseconds.
 */
#include "traffic/requests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/nodes.h"
#include "system/clock.h"
#include "system/fatal.h"
#include "trace/probe.h"
#include "traffic/barrier.h"
#include "traffic/flow.h"
#include "traffic/tcp.h"

static void send_at_once(const struct flow *flow, int fd)
{
	int on = 1, read_back = 0;
	socklen_t size = sizeof(read_back);

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &read_back, &size) || !read_back)
		die("switching off Nagle's delay of flow", flow->name, "", "%s", strerror(errno));
}

void requests_prepare_server(struct flow *flow)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(flow->port), .sin_addr = flow->address};
	int fd = flow_socket(SOCK_STREAM, SENDER_MARK(flow));

	/* A connection has the options of the socket that listened. */
	send_at_once(flow, fd);
	tcp_set_sender_options(flow, fd);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 16))
		die("listening for flow", flow->name, "", "port %u: %s", flow->port,
		    strerror(errno));
	flow->traffic->listener_fd = fd;
}

/* Reads and drops so many bytes; false if they do not come. */
static bool read_all(struct flow *flow, int fd, uint64_t bytes)
{
	while (bytes && !clock_interrupted()) {
		ssize_t got = recv(fd, NULL, bytes, MSG_TRUNC | MSG_WAITALL);

		if (got > 0)
			bytes -= (uint64_t)got;
		else if (!got || (errno != EINTR && errno != ECONNRESET))
			break;
		else if (errno == ECONNRESET)
			return false;
	}
	if (bytes && !clock_interrupted() && errno && errno != EINTR)
		flow_error(flow, "reading a request or a response: %s", strerror(errno));
	return !bytes;
}

/* All requests of one connection; false if none will follow it. */
static bool serve_connection(struct flow *flow, int fd)
{
	const struct requests *asked = flow->requests;
	bool served = true;

	while (served) {
		errno = 0;
		served = read_all(flow, fd, asked->request_bytes) &&
			 tcp_send(flow, fd, asked->response_bytes);
		if (!served)
			break;
		flow->counters->requests_served++;
		if (asked->new_connection)
			return tcp_wait_end(flow, fd) &&
			       flow->counters->requests_served < asked->count;
	}
	return false;
}

void *requests_serve_thread(void *argument)
{
	struct flow *flow = argument;
	bool more = true;

	clock_wait(flow->start_us * NS_PER_US);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	while (more && !clock_interrupted()) {
		int fd = accept4(flow->traffic->listener_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && errno == EINTR)
			continue;
		if (fd < 0) {
			flow_error(flow, "accepting: %s", strerror(errno));
			break;
		}
		flow_connected(flow);
		flow->counters->connections++;
		tcp_set_present(flow, fd);
		more = serve_connection(flow, fd);
		tcp_account_sender(flow, fd);
		tcp_set_present(flow, -1);
		if (!clock_interrupted())
			close(fd);
		else if (!flow_lasts(flow) || flow->traffic->plan->resets_at_end)
			tcp_abort(fd);
	}
	clock_interrupt_never();
	flow_stopped(flow);
	return NULL;
}

/* -1: not connected. */
static int open_connection(struct flow *flow)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(flow->port), .sin_addr = flow->address};
	int fd = flow_socket(SOCK_STREAM, RECEIVER_MARK(flow));

	send_at_once(flow, fd);
	tcp_set_receiver_options(flow, fd);
	pthread_mutex_lock(&traffic_lock);
	flow->traffic->receiver_fd = fd;
	pthread_mutex_unlock(&traffic_lock);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	/* A path that lets no answer through, until the end or until TCP gives up, is a result. */
	if (!clock_interrupted() && errno != ETIMEDOUT)
		flow_error(flow, "connecting: %s", strerror(errno));
	return -1;
}

static void forget_connection(struct flow *flow)
{
	pthread_mutex_lock(&traffic_lock);
	flow->traffic->receiver_fd = -1;
	pthread_mutex_unlock(&traffic_lock);
}

/* What lasts until the end of the run is left as it is, for the counters. */
static void close_connection(struct flow *flow)
{
	int fd = flow->traffic->receiver_fd;

	if (fd < 0 || (clock_interrupted() && flow_lasts(flow)))
		return;
	tcp_account_receiver(flow, fd);
	forget_connection(flow);
	if (clock_interrupted())
		tcp_abort(fd);
	else
		close(fd);
}

/*
 * One request; false if it is not answered. `last_fd` is a connection with its response, -1: none. It is closed when the next
 * one is there: by then the server has ended it, so that its port need not wait.
 */
static bool ask(struct flow *flow, int *last_fd, uint64_t *ended_ns)
{
	const struct requests *asked = flow->requests;
	uint64_t begin_ns = clock_now_ns();
	int fd = flow->traffic->receiver_fd;

	if (fd < 0)
		fd = open_connection(flow);
	if (*last_fd >= 0)
		close(*last_fd);
	*last_fd = -1;
	if (fd < 0)
		return false;
	flow->counters->requests_sent++;
	errno = 0;
	if (!tcp_send(flow, fd, asked->request_bytes) || !read_all(flow, fd, asked->response_bytes))
		return false;
	*ended_ns = clock_now_ns();
	flow->counters->requests_completed++;
	probe_mark(EVENT_REQUEST, flow->id, *ended_ns - begin_ns);
	if (asked->new_connection) {
		tcp_account_receiver(flow, fd);
		forget_connection(flow);
		*last_fd = fd;
	}
	return true;
}

void *requests_ask_thread(void *argument)
{
	struct flow *flow = argument;
	const struct requests *asked = flow->requests;
	uint64_t due_ns = flow->start_us * NS_PER_US, ended_ns = 0, number = 0;
	bool answered = true;
	int last_fd = -1;

	enter_node(flow->to);
	clock_wait(due_ns);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	if (!asked->new_connection) {
		answered = open_connection(flow) >= 0;
		due_ns = clock_now_ns();
	}
	while (answered && number < asked->count && !clock_interrupted()) {
		answered = (!asked->barrier || barrier_wait(flow, &due_ns)) &&
			   ask(flow, &last_fd, &ended_ns);
		number += answered;
		if (answered && asked->barrier)
			barrier_note_response(flow, ended_ns);
		due_ns = asked->every_us ? due_ns + asked->every_us * NS_PER_US
					 : ended_ns + asked->think_us * NS_PER_US;
		if (answered && number < asked->count && due_ns > ended_ns && !asked->barrier)
			clock_wait(due_ns);
	}
	if (number == asked->count)
		flow_completed(flow);
	close_connection(flow);
	if (last_fd >= 0)
		close(last_fd);
	clock_interrupt_never();
	return NULL;
}
