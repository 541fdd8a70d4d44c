/*
 * A client sends a packet with a number and waits for one with the same number, for so long as the plan says; then the request
 * is lost, and a response that comes later counts no more. Requests are due as those over TCP are (requests.c). The server
 * answers each number once: a copy that the path made has no response.
 */
#include "traffic/pings.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "trace/probe.h"
#include "traffic/flow.h"

#define MOST_PAYLOAD 65507

struct ping {
	uint64_t number; /* from 1 on, big-endian */
	char rest[MOST_PAYLOAD - sizeof(uint64_t)];
} __attribute__((packed));

static int ping_socket(const struct flow *flow, uint32_t mark, const char *what,
		       int (*attach)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(flow->port), .sin_addr = flow->address};
	int fd = flow_socket(SOCK_DGRAM, mark);

	flow_set_dscp(flow, fd);
	if (attach(fd, (const struct sockaddr *)&address, sizeof(address)))
		die(what, flow->name, "", "port %u: %s", flow->port, strerror(errno));
	return fd;
}

void pings_prepare_client(struct flow *flow)
{
	flow->traffic->receiver_fd =
		ping_socket(flow, RECEIVER_MARK(flow), "preparing the client of flow", connect);
}

void pings_prepare_server(struct flow *flow)
{
	int fd = ping_socket(flow, SENDER_MARK(flow), "preparing the server of flow", bind);

	flow_set_options(flow, fd);
	flow->traffic->sender_fd = fd;
}

void *pings_serve_thread(void *argument)
{
	struct flow *flow = argument;
	struct ping *ping = need_memory(1, sizeof(*ping));
	int fd = flow->traffic->sender_fd;
	uint64_t last = 0;

	clock_wait(flow->start_us * NS_PER_US);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	while (!clock_interrupted() && last < flow->requests->count) {
		struct sockaddr_in client;
		socklen_t size = sizeof(client);
		ssize_t got =
			recvfrom(fd, ping, sizeof(*ping), 0, (struct sockaddr *)&client, &size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			flow_error(flow, "receiving a request: %s", strerror(errno));
			break;
		}
		if (got < (ssize_t)sizeof(ping->number) || be64toh(ping->number) <= last)
			continue;
		last = be64toh(ping->number);
		flow_connected(flow);
		if (sendto(fd, ping, flow->requests->response_bytes, 0, (struct sockaddr *)&client,
			   size) < 0) {
			flow_error(flow, "sending a response: %s", strerror(errno));
			break;
		}
		flow->counters->requests_served++;
		flow->counters->packets_sent++;
		flow->counters->bytes_sent += flow->requests->response_bytes;
	}
	clock_interrupt_never();
	flow_stopped(flow);
	return NULL;
}

/* Until the response with this number has come; false if it does not in time. */
static bool await_response(struct flow *flow, struct ping *ping, uint64_t number, uint64_t until_ns)
{
	struct pollfd arrival = {.fd = flow->traffic->receiver_fd, .events = POLLIN};

	for (;;) {
		uint64_t now_ns = clock_now_ns(),
			 left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
		struct timespec left = {(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
		int ready = ppoll(&arrival, 1, &left, NULL);
		ssize_t got;

		if (clock_interrupted() || !ready)
			return false;
		if (ready < 0)
			continue;
		got = recv(arrival.fd, ping, sizeof(*ping), MSG_DONTWAIT);
		if (got < 0 && errno != EAGAIN && errno != EINTR) {
			flow_error(flow, "receiving a response: %s", strerror(errno));
			return false;
		}
		if (got == (ssize_t)flow->requests->response_bytes &&
		    be64toh(ping->number) == number)
			return true;
	}
}

/* One request; false if it was not sent. */
static bool ask(struct flow *flow, struct ping *ping, uint64_t number)
{
	const struct requests *asked = flow->requests;
	struct flow_counters *counters = flow->counters;
	uint64_t begin_ns = clock_now_ns(), until_ns = begin_ns + asked->timeout_us * NS_PER_US;

	ping->number = htobe64(number);
	if (send(flow->traffic->receiver_fd, ping, asked->request_bytes, 0) < 0) {
		flow_error(flow, "sending a request: %s", strerror(errno));
		return false;
	}
	counters->requests_sent++;
	if (await_response(flow, ping, number, until_ns)) {
		counters->requests_completed++;
		counters->packets_received++;
		counters->bytes_received += asked->response_bytes;
		probe_count_udp(flow->id, counters->bytes_received, counters->packets_received);
		probe_mark(EVENT_REQUEST, flow->id, clock_now_ns() - begin_ns);
	} else if (!clock_interrupted()) {
		probe_mark(EVENT_REQUEST_LOST, flow->id, clock_now_ns() - begin_ns);
	}
	return true;
}

void *pings_ask_thread(void *argument)
{
	struct flow *flow = argument;
	const struct requests *asked = flow->requests;
	struct ping *ping = need_memory(1, sizeof(*ping));
	uint64_t due_ns = flow->start_us * NS_PER_US, number = 0;

	clock_wait(due_ns);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	while (number < asked->count && !clock_interrupted()) {
		uint64_t now_ns;

		if (!ask(flow, ping, ++number))
			break;
		now_ns = clock_now_ns();
		due_ns = asked->every_us ? due_ns + asked->every_us * NS_PER_US
					 : now_ns + asked->think_us * NS_PER_US;
		if (number < asked->count && due_ns > now_ns)
			clock_wait(due_ns);
	}
	if (number == asked->count && !clock_interrupted())
		flow_completed(flow);
	clock_interrupt_never();
	return NULL;
}

void pings_count(struct flow *flow)
{
	const struct traffic *traffic = flow->traffic;

	if (flow->dscp && traffic->sender_fd >= 0)
		flow->counters->dscp_sent = flow_read_dscp(flow, traffic->sender_fd);
	if (flow->dscp && traffic->receiver_fd >= 0)
		flow->counters->dscp_received = flow_read_dscp(flow, traffic->receiver_fd);
}
