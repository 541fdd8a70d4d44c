/*
 * UDP flows of constant rate, always or in exponential periods. Packets leave at absolute times. The
 * rate counts what the queues count: the payload and 42 bytes of UDP, IP and Ethernet headers.
 * A packet begins with its number, by which a receiver finds the copies that a path makes: each packet counts once.
 */
#include "traffic/udp.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "system/random.h"
#include "trace/probe.h"
#include "traffic/flow.h"

#define HEADER_BYTES 42
/* Waking for each packet would cost more than the packet: those due within this time go together. */
#define TOGETHER_NS    (250 * NS_PER_US)
#define MOST_TOGETHER  256
#define DRAIN_EVERY_NS (10000 * NS_PER_US)
#define RECEIVE_BUFFER (256 << 20)
#define MOST_PAYLOAD   65507
/* A copy that comes so many packets or so long after the first is counted as another packet. */
#define COPIES_WITHIN_NS (4 * NS_PER_S)
#define LEAST_REMEMBERED (1u << 10)
#define MOST_REMEMBERED	 (1u << 20)

static void bind_to(const struct flow *flow, int fd,
		    int (*attach)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(flow->port), .sin_addr = flow->address};

	if (attach(fd, (const struct sockaddr *)&address, sizeof(address)))
		die("preparing flow", flow->name, "", "port %u: %s", flow->port, strerror(errno));
}

struct pace {
	uint64_t gap_numerator, rate_bps; /* time of packet n: n * gap_numerator / rate_bps */
	uint64_t together;
};

static struct pace pace_of(const struct flow *flow)
{
	return (struct pace){
		.gap_numerator = (flow->payload_bytes + HEADER_BYTES) * 8 * NS_PER_S,
		.rate_bps = flow->rate_bps,
	};
}

static uint64_t due_ns(const struct pace *pace, uint64_t packet)
{
	return (uint64_t)((unsigned __int128)packet * pace->gap_numerator / pace->rate_bps);
}

/* Whether a packet of this number comes for the first time; one that is too late to know counts as the first. */
static bool is_first(struct arrivals *arrivals, uint64_t number)
{
	uint64_t mask = arrivals->size - 1, bit;

	if (number >= arrivals->next + arrivals->size) {
		memset(arrivals->bits, 0, arrivals->size / 8);
		arrivals->next = number;
	}
	for (; arrivals->next <= number; arrivals->next++)
		arrivals->bits[(arrivals->next & mask) / 64] &= ~(1ull << arrivals->next % 64);
	if (arrivals->next - number > arrivals->size)
		return true;
	bit = 1ull << number % 64;
	if (arrivals->bits[(number & mask) / 64] & bit)
		return false;
	arrivals->bits[(number & mask) / 64] |= bit;
	return true;
}

static void prepare_arrivals(const struct flow *flow, struct arrivals *arrivals)
{
	struct pace pace = pace_of(flow);
	uint64_t packets = COPIES_WITHIN_NS / (due_ns(&pace, 1) + 1);

	arrivals->size = LEAST_REMEMBERED;
	while (arrivals->size < packets && arrivals->size < MOST_REMEMBERED)
		arrivals->size *= 2;
	arrivals->bits = need_memory(arrivals->size / 64, sizeof(*arrivals->bits));
}

void udp_prepare_receiver(struct flow *flow)
{
	int size = RECEIVE_BUFFER, fd = flow_socket(SOCK_DGRAM, RECEIVER_MARK(flow));

	/* What waits here between two looks must never be lost. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		die("preparing flow", flow->name, "", "receive buffer: %s", strerror(errno));
	if (flow->dscp)
		flow_set_dscp(flow, fd);
	bind_to(flow, fd, bind);
	prepare_arrivals(flow, &flow->traffic->arrivals);
	flow->traffic->receiver_fd = fd;
}

void udp_prepare_sender(struct flow *flow)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = flow->from->host_address};

	flow->traffic->sender_fd = flow_socket(SOCK_DGRAM, SENDER_MARK(flow));
	flow_set_options(flow, flow->traffic->sender_fd);
	flow_set_dscp(flow, flow->traffic->sender_fd);
	if (here.sin_addr.s_addr &&
	    bind(flow->traffic->sender_fd, (struct sockaddr *)&here, sizeof(here)))
		die("binding flow", flow->name, "the address must be this host's", "%s: %s",
		    inet_ntoa(here.sin_addr), strerror(errno));
	bind_to(flow, flow->traffic->sender_fd, connect);
}

/* Messages of one size, each with room for its number. */
static struct mmsghdr *make_messages(size_t payload, uint64_t numbers[MOST_TOGETHER])
{
	static char zeros[MOST_PAYLOAD];
	struct mmsghdr *messages = need_memory(MOST_TOGETHER, sizeof(*messages));
	struct iovec(*pieces)[2] = need_memory(MOST_TOGETHER, sizeof(*pieces));

	for (int i = 0; i < MOST_TOGETHER; i++) {
		pieces[i][0] = (struct iovec){.iov_base = &numbers[i], .iov_len = sizeof(*numbers)};
		pieces[i][1] =
			(struct iovec){.iov_base = zeros, .iov_len = payload - sizeof(*numbers)};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = pieces[i], .msg_iovlen = 2};
	}
	return messages;
}

/* Constant rate from one instant to another; false when the kernel refuses. */
static bool send_period(struct flow *flow, const struct pace *pace, struct mmsghdr *messages,
			uint64_t *numbers, uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t packet = 0;;) {
		uint64_t count = 0;
		int sent;

		while (count < pace->together && from_ns + due_ns(pace, packet + count) < to_ns)
			count++;
		if (!count)
			return true;
		for (uint64_t i = 0; i < count; i++)
			numbers[i] = htobe64(flow->counters->packets_sent + i);
		clock_wait(from_ns + due_ns(pace, packet));
		sent = sendmmsg(flow->traffic->sender_fd, messages, (unsigned int)count, 0);
		if (sent < (int)count) {
			flow_error(flow, "sending: %s",
				   sent < 0 ? strerror(errno) : "not all packets");
			return false;
		}
		flow->counters->packets_sent += (uint64_t)sent;
		flow->counters->bytes_sent += (uint64_t)sent * flow->payload_bytes;
		packet += count;
	}
}

void *udp_send_thread(void *argument)
{
	struct flow *flow = argument;
	uint64_t *numbers = need_memory(MOST_TOGETHER, sizeof(*numbers));
	struct mmsghdr *messages = make_messages(flow->payload_bytes, numbers);
	uint64_t at_ns = flow->start_us * NS_PER_US, end_ns = flow_end_us(flow) * NS_PER_US;
	struct pace pace = pace_of(flow);
	struct draws draws;

	pace.together = TOGETHER_NS / (due_ns(&pace, 1) + 1);
	if (pace.together < 1)
		pace.together = 1;
	if (pace.together > MOST_TOGETHER)
		pace.together = MOST_TOGETHER;
	draws_seed(&draws, flow->seed);
	clock_wait(at_ns);
	flow_connected(flow);
	while (at_ns < end_ns) {
		uint64_t pause_ns = end_ns;

		if (flow->on_us) {
			pause_ns = at_ns + draw_exponential(&draws, flow->on_us * NS_PER_US);
			if (pause_ns > end_ns)
				pause_ns = end_ns;
		}
		if (!send_period(flow, &pace, messages, numbers, at_ns, pause_ns))
			break;
		at_ns = pause_ns + draw_exponential(&draws, flow->off_us * NS_PER_US);
	}
	clock_wait(end_ns);
	flow_stopped(flow);
	free(messages->msg_hdr.msg_iov);
	free(messages);
	free(numbers);
	return NULL;
}

static void count_packet(struct flow *flow, const struct mmsghdr *message)
{
	uint64_t number = be64toh(*(uint64_t *)message->msg_hdr.msg_iov->iov_base);

	if (message->msg_len < sizeof(number) || !is_first(&flow->traffic->arrivals, number))
		return;
	flow->counters->bytes_received += message->msg_len;
	flow->counters->packets_received++;
}

static void drain(struct flow *flow)
{
	struct mmsghdr messages[MOST_TOGETHER] = {0};
	struct iovec pieces[MOST_TOGETHER];
	uint64_t numbers[MOST_TOGETHER];
	const struct flow_counters *counters = flow->counters;
	uint64_t before = counters->packets_received;
	int got;

	for (int i = 0; i < MOST_TOGETHER; i++) {
		pieces[i] = (struct iovec){.iov_base = &numbers[i], .iov_len = sizeof(numbers[i])};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
	}
	do {
		got = recvmmsg(flow->traffic->receiver_fd, messages, MOST_TOGETHER,
			       MSG_DONTWAIT | MSG_TRUNC, NULL);
		for (int i = 0; i < got; i++)
			count_packet(flow, &messages[i]);
	} while (got == MOST_TOGETHER);
	if (got < 0 && errno != EAGAIN)
		flow_error(flow, "receiving: %s", strerror(errno));
	if (counters->packets_received != before)
		probe_count_udp(flow->id, counters->bytes_received, counters->packets_received);
}

void udp_count(struct flow *flow)
{
	const struct traffic *traffic = flow->traffic;

	if (traffic->receiver_fd >= 0)
		drain(flow);
	if (flow->dscp && traffic->sender_fd >= 0)
		flow->counters->dscp_sent = flow_read_dscp(flow, traffic->sender_fd);
	if (flow->dscp && traffic->receiver_fd >= 0)
		flow->counters->dscp_received = flow_read_dscp(flow, traffic->receiver_fd);
}

void *udp_receive_thread(void *argument)
{
	struct flow *flow = argument;
	uint64_t end_ns = flow->traffic->plan->duration_us * NS_PER_US;

	/* The last look, at the end of the run, is udp_count. */
	for (uint64_t at_ns = flow->start_us * NS_PER_US + DRAIN_EVERY_NS; at_ns < end_ns;
	     at_ns += DRAIN_EVERY_NS) {
		clock_wait(at_ns);
		drain(flow);
	}
	return NULL;
}
