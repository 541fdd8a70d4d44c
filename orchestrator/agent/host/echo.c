/* An answer has the length of the probe and its TOS byte on arrival; it is small and marked ECT(0) itself. */
#include "host/echo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host/frames.h"
#include "net/nic.h"
#include "system/clock.h"
#include "system/fatal.h"

#define MAGIC	      0x4c48454fu
#define ECT0	      2
#define SMALL_BYTES   100
#define LARGEST_BYTES 9200
#define IP_UDP_BYTES  28
#define FRAME_BYTES   (IP_UDP_BYTES + 14)
#define MOST_PROBES   20000
#define LONGEST_US    20000000ull
#define LEAST_GAP_US  500
#define LAST_WAIT_MS  1500
#define LARGE_TRIES   3
#define LARGE_WAIT_MS 700

struct probe {
	uint32_t magic, number, length, tos;
	uint64_t sent_ns;
};

static uint64_t sent_bytes;

uint64_t echo_sent(void)
{
	return sent_bytes;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int open_socket(const struct limits *limits, uint16_t port)
{
	struct sockaddr_in here = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = limits->address};
	int one = 1, tos = ECT0, whole = IP_PMTUDISC_PROBE;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) ||
	    setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof(whole)))
		die("opening a socket for probes on", inet_ntoa(limits->address),
		    "the address must be this host's, and the port free", "port %u: %s", port,
		    strerror(errno));
	return fd;
}

int echo_open(const struct limits *limits, uint16_t port)
{
	if (!limits_allow_port(limits, port))
		die("answering probes on", inet_ntoa(limits->address),
		    "the operator's policy says which ports", "port %u is not allowed", port);
	return open_socket(limits, port);
}

/* The length of the next probe, or -1; its contents, and the TOS byte that it came with. */
static ssize_t receive(int fd, struct probe *probe, uint32_t *tos, struct sockaddr_in *from)
{
	static char room[LARGEST_BYTES];
	char control[64];
	struct iovec piece = {room, sizeof(room)};
	struct msghdr message = {.msg_name = from,
				 .msg_namelen = sizeof(*from),
				 .msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t length = recvmsg(fd, &message, 0);

	if (length < (ssize_t)sizeof(*probe))
		return length < 0 ? -1 : 0;
	memcpy(probe, room, sizeof(*probe));
	*tos = 0;
	for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one))
		if (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_TOS)
			*tos = *(unsigned char *)CMSG_DATA(one);
	return probe->magic == MAGIC ? length : 0;
}

void echo_answer(const struct limits *limits, int fd)
{
	struct sockaddr_in from;
	struct probe probe;
	uint32_t tos;
	ssize_t length;

	while ((length = receive(fd, &probe, &tos, &from)) >= 0) {
		char answer[SMALL_BYTES] = {0};

		if (!length || !limits_find_peer(limits, from.sin_addr))
			continue;
		probe.length = (uint32_t)length;
		probe.tos = tos;
		memcpy(answer, &probe, sizeof(probe));
		if (sendto(fd, answer, sizeof(answer), 0, (struct sockaddr *)&from, sizeof(from)) >
		    0)
			sent_bytes += sizeof(answer) + FRAME_BYTES;
	}
}

struct probing {
	int fd;
	struct sockaddr_in there;
	uint32_t *rtt_us; /* by number; 0: no answer */
	uint32_t count, answered, ecn_there, ecn_back;
	uint32_t largest; /* IP packet that was answered */
};

static void send_probe(struct probing *probing, uint32_t number, size_t length)
{
	static char room[LARGEST_BYTES];
	struct probe probe = {.magic = MAGIC, .number = number, .sent_ns = now_ns()};

	memcpy(room, &probe, sizeof(probe));
	/* What is too large for the device itself is refused at once, and so has no answer. */
	if (sendto(probing->fd, room, length, 0, (struct sockaddr *)&probing->there,
		   sizeof(probing->there)) > 0)
		sent_bytes += length + FRAME_BYTES;
}

static void take_answers(struct probing *probing)
{
	struct sockaddr_in from;
	struct probe probe;
	uint32_t tos;
	ssize_t length;

	while ((length = receive(probing->fd, &probe, &tos, &from)) >= 0 || errno == ECONNREFUSED) {
		uint64_t took_us;

		if (length <= 0 || from.sin_addr.s_addr != probing->there.sin_addr.s_addr)
			continue;
		if (probe.length + IP_UDP_BYTES > probing->largest)
			probing->largest = probe.length + IP_UDP_BYTES;
		if (probe.number >= probing->count || probing->rtt_us[probe.number])
			continue;
		took_us = (now_ns() - probe.sent_ns) / NS_PER_US;
		probing->rtt_us[probe.number] = took_us ? (uint32_t)took_us : 1;
		probing->answered++;
		probing->ecn_there += (probe.tos & 3) == ECT0;
		probing->ecn_back += (tos & 3) == ECT0;
	}
}

static void wait_until(struct probing *probing, uint64_t until_ns)
{
	for (uint64_t now = now_ns(); now < until_ns; now = now_ns()) {
		struct pollfd one = {.fd = probing->fd, .events = POLLIN};
		struct timespec left = {.tv_sec = (time_t)((until_ns - now) / NS_PER_S),
					.tv_nsec = (long)((until_ns - now) % NS_PER_S)};

		ppoll(&one, 1, &left, NULL);
		take_answers(probing);
	}
}

static void probe_large(struct probing *probing, uint32_t mtu)
{
	const uint32_t sizes[] = {mtu, 1500, 1492, 1480, 1450, 1400, 1280};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t until_ns = now_ns() + LARGE_WAIT_MS * 1000000ull;

		if (sizes[i] > mtu || sizes[i] > LARGEST_BYTES)
			continue;
		for (int try = 0; try < LARGE_TRIES; try++)
			send_probe(probing, probing->count, sizes[i] - IP_UDP_BYTES);
		while (now_ns() < until_ns && probing->largest < sizes[i])
			wait_until(probing, now_ns() + 10000000);
		if (probing->largest >= sizes[i])
			return;
	}
}

static void report(const struct probing *probing)
{
	struct writer writer;

	writer_open(&writer);
	writer_object(&writer, NULL);
	writer_unsigned(&writer, "sent", probing->count);
	writer_unsigned(&writer, "answered", probing->answered);
	writer_unsigned(&writer, "ecn_there", probing->ecn_there);
	writer_unsigned(&writer, "ecn_back", probing->ecn_back);
	writer_unsigned(&writer, "largest_bytes", probing->largest);
	writer_list(&writer, "rtt_us");
	for (uint32_t i = 0; i < probing->count; i++)
		writer_unsigned(&writer, NULL, probing->rtt_us[i]);
	writer_end(&writer);
	writer_end(&writer);
	frame_send_document("ECHO", &writer);
}

void echo_probe(const struct limits *limits, const char *address, uint16_t port, uint32_t count,
		uint32_t gap_us)
{
	struct probing probing = {.count = count};
	uint64_t begun_ns;

	probing.there = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	if (inet_pton(AF_INET, address, &probing.there.sin_addr) != 1 ||
	    !limits_find_peer(limits, probing.there.sin_addr))
		die("probing the way to", address, "the operator's policy says where",
		    "no traffic is allowed with it");
	if (count > MOST_PROBES || gap_us < LEAST_GAP_US || (uint64_t)count * gap_us > LONGEST_US)
		die("probing the way to", address, "ask for fewer", "%u probes each %u us", count,
		    gap_us);
	probing.fd = open_socket(limits, 0);
	probing.rtt_us = need_memory(count, sizeof(*probing.rtt_us));
	begun_ns = now_ns();
	for (uint32_t i = 0; i < count; i++) {
		wait_until(&probing, begun_ns + (uint64_t)i * gap_us * NS_PER_US);
		send_probe(&probing, i, SMALL_BYTES);
	}
	for (uint64_t until_ns = now_ns() + LAST_WAIT_MS * 1000000ull;
	     probing.answered < count && now_ns() < until_ns;)
		wait_until(&probing, now_ns() + 10000000);
	if (probing.answered)
		probe_large(&probing, nic_mtu(limits->device));
	report(&probing);
	free(probing.rtt_us);
	close(probing.fd);
}
