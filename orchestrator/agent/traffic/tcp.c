/*
 * TCP flows. A sender gives the kernel 8 MB at a time, all of them references to one page of zeros, and
 * sleeps until they are gone; a receiver asks for a gigabyte that is thrown away. So a flow of any speed costs a
 * handful of system calls a second. Socket buffers are set only where the plan bounds the window of a flow:
 * setting one ends its tuning.
 */
#include "traffic/tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "system/clock.h"
#include "system/fatal.h"
#include "traffic/flow.h"
#include "traffic/transfer.h"

/* TCP_INFO of kernels with accurate ECN (7.0), which the headers of a system may not know; in words of 32 bits. */
union late_tcp_info {
	struct tcp_info known;
	uint32_t words[70];
};
#define RECEIVED_CE	  62
#define ECN_MODE	  69 /* and other things above its two bits */
#define ECN_MODE_ACCURATE 2

/* A peer that ended has sent its FIN; include/net/tcp_states.h is not for programs. */
#define STATE_CLOSE_WAIT 8

#define SEND_BYTES    (8u << 20)
#define RECEIVE_BYTES (1u << 30)
#define WAKE_BYTES    (64u << 10)
/* IP and TCP headers, with timestamps. */
#define HEADER_BYTES 52
/* What the kernel charges for a segment besides its bytes; 832 in 6.12. */
#define LEAST_OVERHEAD_BYTES 768
/* So many bytes of memory for each of the window: it is never short of room. */
#define ROOMY 8ull

static struct sockaddr_in address_of(const struct flow *flow)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(flow->port), .sin_addr = flow->address};
}

static void set_congestion(const struct flow *flow, int fd)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc, (socklen_t)strlen(flow->cc)))
		die("setting the congestion control of flow", flow->name,
		    "its module must be among the plan's modules or in the kernel", "%s: %s",
		    flow->cc, strerror(errno));
}

/* A rate of 0 is none: the kernel's own value for that is the largest. */
static void set_pacing(const struct flow *flow, int fd, uint64_t rate_bps)
{
	uint64_t asked = rate_bps ? rate_bps / 8 : UINT64_MAX, read_back = 0;
	socklen_t size = sizeof(read_back);

	if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &asked, sizeof(asked)) ||
	    getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &read_back, &size))
		die("setting the pacing rate of flow", flow->name, "", "%s", strerror(errno));
	if (asked != read_back)
		die("reading back the pacing rate of flow", flow->name,
		    "the guest kernel does not do what the plan needs",
		    "%llu byte/s were asked for, %llu are set", (unsigned long long)asked,
		    (unsigned long long)read_back);
}

/* Bounds the window that a receiver offers. */
static void clamp_window(const struct flow *flow, int fd)
{
	uint32_t clamp = flow->window_clamp_bytes;

	if (setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp)))
		die("setting the window of flow", flow->name, "", "%s", strerror(errno));
}

/* 0: none. */
static uint32_t read_clamp(const struct flow *flow, int fd)
{
	uint32_t clamp = 0;
	socklen_t size = sizeof(clamp);

	if (getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, &size))
		die("reading back the window of flow", flow->name, "", "%s", strerror(errno));
	return clamp;
}

/* A receive buffer of a size that was set is not tuned, so it does not raise the clamp. */
static void fix_receive_buffer(const struct flow *flow, int fd, uint64_t bytes)
{
	/* The kernel doubles what it is given. */
	int buffer = bytes / 2 < INT_MAX / 2 ? (int)(bytes / 2) : INT_MAX / 2;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)))
		die("setting the receive buffer of flow", flow->name, "", "%s", strerror(errno));
}

static uint32_t receiver_mtu(const struct flow *flow)
{
	const struct plan *plan = flow->traffic->plan;

	for (size_t i = 0; i < 2 * plan->wire_count; i++)
		if (plan->wires[i / 2].ends[i % 2].node == flow->to)
			return plan->wires[i / 2].ends[i % 2].mtu;
	return ETH_DATA_LEN;
}

/*
 * The receive buffer until the first full segment has come. That segment teaches the kernel how much memory a byte takes, and
 * the kernel then makes the window as large as the buffer has room for. So the buffer has room for the window and for that
 * segment, which still lies in it when it is acknowledged. The first window may be a fifth smaller than the clamp: the kernel
 * first counts two bytes of memory for each. It is two segments at least, for a sender never sends more than half of the
 * largest window it has seen; and a clamp beyond 64 KB needs the scale of its own size, which the first window decides.
 */
static uint64_t first_buffer(const struct flow *flow)
{
	uint64_t clamp = flow->window_clamp_bytes, segment = receiver_mtu(flow) - HEADER_BYTES;
	uint64_t buffer = clamp + segment, least = clamp >= 2 * segment ? 4 * segment : 0;

	/* What a segment of a real card takes is not known: at least itself. */
	if (!flow->to->device)
		buffer = buffer * (segment + LEAST_OVERHEAD_BYTES) / segment;
	if (clamp > UINT16_MAX)
		for (least = 2; least <= clamp;)
			least *= 2;
	return buffer > least ? buffer : least;
}

/* The largest segment that a window as large as the clamp makes a sender send: Linux never sends more than half of it. */
static uint32_t largest_segment(const struct flow *flow, uint32_t mss)
{
	uint32_t window = flow->window_clamp_bytes;

	if (window > mss)
		window -= window % mss;
	return window / 2 < mss ? window / 2 : mss;
}

/*
 * Sets the clamp again before each read until the kernel knows the largest segment: learning it raises the clamp, which
 * must be lowered before what was read makes room. Then the buffer is given so much room that the clamp alone holds.
 */
static ssize_t read_first(const struct flow *flow, int fd)
{
	for (;;) {
		struct pollfd arrival = {.fd = fd, .events = POLLIN};
		struct tcp_info info = {0};
		socklen_t size = sizeof(info);
		ssize_t got;

		while (poll(&arrival, 1, -1) < 0 && errno == EINTR)
			continue;
		if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
			return -1;
		clamp_window(flow, fd);
		if (info.tcpi_rcv_mss >= largest_segment(flow, info.tcpi_advmss)) {
			fix_receive_buffer(flow, fd, ROOMY * flow->window_clamp_bytes);
			/* Late kernels (7.3, not 6.12) fit the clamp to the buffer. */
			if (read_clamp(flow, fd) != flow->window_clamp_bytes)
				clamp_window(flow, fd);
			return 1;
		}
		got = recv(fd, NULL, RECEIVE_BYTES, MSG_TRUNC);
		if (got <= 0)
			return got;
	}
}

/* A reader that wakes for each segment costs more than the segment; what has come is counted by the probe. */
static void wake_seldom(const struct flow *flow, int fd)
{
	uint32_t least = WAKE_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)))
		die("setting the least read of flow", flow->name, "", "%s", strerror(errno));
}

static int listen_for(const struct flow *flow)
{
	int fd = flow_socket(SOCK_STREAM, RECEIVER_MARK(flow));
	struct sockaddr_in address = address_of(flow);

	if (flow->window_clamp_bytes) {
		fix_receive_buffer(flow, fd, first_buffer(flow));
		clamp_window(flow, fd);
	}
	flow->counters->window_clamp_bytes = read_clamp(flow, fd);
	tcp_set_receiver_options(flow, fd);
	/*
	 * A clamp of the plan has to be set again at the first segment (receive_all). On a real host the kernel
	 * sizes the receive buffer by how fast it is read.
	 */
	if (flow->kind == FLOW_TCP && !flow->window_clamp_bytes && !flow->to->device)
		wake_seldom(flow, fd);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 16))
		die("listening for flow", flow->name, "", "port %u: %s", flow->port,
		    strerror(errno));
	return fd;
}

void tcp_prepare_receiver(struct flow *flow)
{
	flow->traffic->listener_fd = listen_for(flow);
}

/* From the address that the plan has of a real host, whichever one its routes would choose. */
static void bind_here(const struct flow *flow, int fd)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = flow->from->host_address};

	if (here.sin_addr.s_addr && bind(fd, (struct sockaddr *)&here, sizeof(here)))
		die("binding flow", flow->name, "the address must be this host's", "%s: %s",
		    inet_ntoa(here.sin_addr), strerror(errno));
}

void tcp_set_sender_options(const struct flow *flow, int fd)
{
	set_congestion(flow, fd);
	flow_set_options(flow, fd);
	flow_set_dscp(flow, fd);
	if (flow->max_pacing_bps)
		set_pacing(flow, fd, flow->max_pacing_bps);
}

void tcp_set_receiver_options(const struct flow *flow, int fd)
{
	if (flow->both_ends)
		set_congestion(flow, fd);
	/* A connection has that of the socket that listened. */
	flow_set_dscp(flow, fd);
}

int tcp_sender(const struct flow *flow)
{
	int fd = flow_socket(SOCK_STREAM, SENDER_MARK(flow));

	bind_here(flow, fd);
	tcp_set_sender_options(flow, fd);
	return fd;
}

void tcp_prepare_sender(struct flow *flow)
{
	flow->traffic->sender_fd = tcp_sender(flow);
}

/* A dctcp connection whose first SYN was lost has no ECN (RFC 3168, section 6.1.1.1), and the kernel then runs Reno in its name. */
static bool fell_back(const char *asked, const char *cc)
{
	return !strcmp(asked, "dctcp") && !strcmp(cc, "dctcp-reno");
}

/* The control really in use: the kernel may have fallen back. A schedule may change it, under the lock. */
static void check_congestion(struct flow *flow, int fd)
{
	char cc[16] = "";
	const char *asked;
	socklen_t size = sizeof(cc) - 1;
	bool failed;

	pthread_mutex_lock(&traffic_lock);
	failed = getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &size);
	asked = flow->cc;
	memcpy(flow->counters->cc, cc, sizeof(cc));
	pthread_mutex_unlock(&traffic_lock);
	if (failed)
		flow_error(flow, "reading its congestion control: %s", strerror(errno));
	else if (strcmp(cc, asked) && !fell_back(asked, cc))
		flow_error(flow, "congestion control %s was asked for, %s is in use", asked, cc);
}

void tcp_check(struct flow *flow, int fd)
{
	uint64_t paced = 0, asked = flow->max_pacing_bps ? flow->max_pacing_bps / 8 : UINT64_MAX;
	socklen_t size = sizeof(paced);

	check_congestion(flow, fd);
	if (getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &paced, &size))
		flow_error(flow, "reading its pacing rate: %s", strerror(errno));
	else if (paced != asked)
		flow_error(flow, "a pacing rate of %llu byte/s was asked for, %llu is set",
			   (unsigned long long)asked, (unsigned long long)paced);
}

/* The rate first: a control that needs one reads it when it begins. */
static void change_socket(const struct change *change, int fd)
{
	struct flow *flow = change->flow;
	char cc[16] = "";
	socklen_t size = sizeof(cc) - 1;

	if (change->max_pacing_bps != NEVER)
		set_pacing(flow, fd, change->max_pacing_bps);
	if (!change->cc)
		return;
	flow->cc = change->cc;
	set_congestion(flow, fd);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &size) || strcmp(cc, flow->cc))
		die("reading back the congestion control of flow", flow->name,
		    "the guest kernel does not do what the plan needs",
		    "%s was asked for, %s is in use", flow->cc, *cc ? cc : "none");
}

/* For a socket that is not there yet: it begins with these values. */
static void note_change(const struct change *change)
{
	if (change->cc)
		change->flow->cc = change->cc;
	if (change->max_pacing_bps != NEVER)
		change->flow->max_pacing_bps = change->max_pacing_bps;
}

bool tcp_change(const struct change *change)
{
	const struct flow *flow = change->flow;
	struct traffic *traffic = flow->traffic;
	bool there;

	pthread_mutex_lock(&traffic_lock);
	there = (traffic->sender_fd >= 0 || flow->kind == FLOW_IPERF3) && !traffic->over;
	if (there && traffic->sender_fd >= 0)
		change_socket(change, traffic->sender_fd);
	else if (there)
		note_change(change);
	pthread_mutex_unlock(&traffic_lock);
	return there;
}

void tcp_set_present(struct flow *flow, int fd)
{
	pthread_mutex_lock(&traffic_lock);
	flow->traffic->sender_fd = fd;
	if (fd >= 0)
		flow->traffic->counted = false;
	pthread_mutex_unlock(&traffic_lock);
}

bool tcp_connect(struct flow *flow, int fd)
{
	struct sockaddr_in address = address_of(flow);

	bool failed = connect(fd, (struct sockaddr *)&address, sizeof(address));
	int problem = errno;

	check_congestion(flow, fd);
	if (failed) {
		/* A path that lets no answer through, until the end or until TCP gives up, is a result. */
		if (!clock_interrupted() && problem != ETIMEDOUT)
			flow_error(flow, "connecting: %s", strerror(problem));
		return false;
	}
	flow_connected(flow);
	pthread_mutex_lock(&traffic_lock);
	flow->counters->connections++;
	pthread_mutex_unlock(&traffic_lock);
	return true;
}

void tcp_account_sender(struct flow *flow, int fd)
{
	struct flow_counters *counters = flow->counters;
	union late_tcp_info late = {0};
	uint8_t dscp = 0;
	socklen_t size = sizeof(late);
	struct tcp_info info;

	check_congestion(flow, fd);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &late, &size)) {
		flow_error(flow, "reading TCP_INFO: %s", strerror(errno));
		return;
	}
	info = late.known;
	if (flow->dscp)
		dscp = flow_read_dscp(flow, fd);
	pthread_mutex_lock(&traffic_lock);
	if (flow->traffic->counted) {
		pthread_mutex_unlock(&traffic_lock);
		return;
	}
	flow->traffic->counted = true;
	if (flow->dscp)
		counters->dscp_sent = dscp;
	counters->bytes_sent +=
		info.tcpi_bytes_sent - info.tcpi_bytes_retrans - flow->traffic->cookie_bytes;
	counters->packets_sent += info.tcpi_data_segs_out;
	counters->retransmits += info.tcpi_total_retrans;
	counters->busy_us += info.tcpi_busy_time;
	counters->rwnd_limited_us += info.tcpi_rwnd_limited;
	counters->sndbuf_limited_us += info.tcpi_sndbuf_limited;
	if (info.tcpi_min_rtt < counters->min_rtt_us)
		counters->min_rtt_us = info.tcpi_min_rtt;
	counters->mss = info.tcpi_snd_mss;
	counters->ecn = (info.tcpi_options & TCPI_OPT_ECN) != 0;
	counters->accurate_ecn = (late.words[ECN_MODE] & 3) == ECN_MODE_ACCURATE;
	counters->marks_reported += info.tcpi_delivered_ce;
	pthread_mutex_unlock(&traffic_lock);
}

void tcp_account_receiver(struct flow *flow, int fd)
{
	union late_tcp_info late = {0};
	socklen_t size = sizeof(late);
	struct tcp_info info;
	uint8_t dscp = 0;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &late, &size)) {
		flow_error(flow, "reading TCP_INFO of the receiver: %s", strerror(errno));
		return;
	}
	info = late.known;
	/* The kernel counts a FIN as a byte. */
	if (info.tcpi_state == STATE_CLOSE_WAIT)
		info.tcpi_bytes_received--;
	if (flow->dscp)
		dscp = flow_read_dscp(flow, fd);
	pthread_mutex_lock(&traffic_lock);
	if (flow->dscp)
		flow->counters->dscp_received = dscp;
	flow->counters->bytes_received += info.tcpi_bytes_received - flow->traffic->cookie_bytes;
	flow->counters->packets_received += info.tcpi_data_segs_in;
	if (size >= (RECEIVED_CE + 1) * sizeof(*late.words))
		flow->counters->marks_received += late.words[RECEIVED_CE];
	else
		flow->counters->marks_received = NEVER;
	pthread_mutex_unlock(&traffic_lock);
}

void tcp_count(struct flow *flow)
{
	const struct traffic *traffic = flow->traffic;

	if (traffic->sender_fd >= 0 && flow->counters->connected_us != NEVER && !traffic->over)
		tcp_account_sender(flow, traffic->sender_fd);
	if (traffic->receiver_fd >= 0)
		tcp_account_receiver(flow, traffic->receiver_fd);
}

/* A file of SEND_BYTES without a single block: its every page is the kernel's page of zeros. */
static int hole(void)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	static int fd = -1;

	pthread_mutex_lock(&once);
	if (fd < 0) {
		fd = memfd_create("hole", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, SEND_BYTES))
			die("making the data to send", "", "", "%s", strerror(errno));
	}
	pthread_mutex_unlock(&once);
	return fd;
}

bool tcp_send(struct flow *flow, int fd, uint64_t bytes)
{
	while (bytes && !clock_interrupted()) {
		size_t chunk = bytes < SEND_BYTES ? (size_t)bytes : SEND_BYTES;
		off_t begin = 0;
		ssize_t sent = sendfile(fd, hole(), &begin, chunk);

		if (sent < 0 && errno != EINTR) {
			flow_error(flow, "sending: %s", strerror(errno));
			return false;
		}
		if (sent > 0 && bytes != NEVER)
			bytes -= (uint64_t)sent;
	}
	return !bytes;
}

bool tcp_wait_end(struct flow *flow, int fd)
{
	char byte;

	if (shutdown(fd, SHUT_WR)) {
		flow_error(flow, "ending: %s", strerror(errno));
		return false;
	}
	while (!clock_interrupted()) {
		ssize_t got = recv(fd, &byte, sizeof(byte), 0);

		if (got == 0)
			return true;
		if (got < 0 && errno != EINTR) {
			flow_error(flow, "waiting for the receiver: %s", strerror(errno));
			return false;
		}
	}
	return false;
}

void tcp_forget(int fd)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* A reset: nothing of the flow stays behind in buffers. */
void tcp_abort(int fd)
{
	tcp_forget(fd);
	close(fd);
}

/* A stream's part of a transfer. */
static bool send_blocks(struct flow *flow, int fd)
{
	uint64_t bytes;

	while ((bytes = transfer_take(flow)))
		if (!tcp_send(flow, fd, bytes))
			return false;
	return true;
}

void *tcp_send_thread(void *argument)
{
	struct flow *flow = argument;
	struct traffic *traffic = flow->traffic;
	int fd = traffic->sender_fd;
	bool connected, sent, ended;

	clock_wait(flow->start_us * NS_PER_US);
	clock_interrupt_at(flow_end_us(flow) * NS_PER_US);
	connected = tcp_connect(flow, fd);
	sent = connected &&
	       (traffic->transfer ? send_blocks(flow, fd) : tcp_send(flow, fd, flow->bytes));
	ended = sent && tcp_wait_end(flow, fd);
	pthread_mutex_lock(&traffic_lock);
	traffic->over = true;
	pthread_mutex_unlock(&traffic_lock);
	if (connected)
		tcp_account_sender(flow, fd);
	clock_interrupt_never();
	flow_stopped(flow);
	if (ended)
		close(fd);
	else if (!flow_lasts(flow) || traffic->plan->resets_at_end)
		tcp_abort(fd);
	return NULL;
}

static void receive_all(struct flow *flow, int fd)
{
	ssize_t got = flow->window_clamp_bytes ? read_first(flow, fd) : 1;

	/* An error is reported once: asked again, a reset connection reports a good end. */
	while (got > 0 || (got < 0 && errno == EINTR))
		got = recv(fd, NULL, RECEIVE_BYTES, MSG_TRUNC | MSG_WAITALL);
	/* A reset is how a flow without a size ends. */
	if (got < 0 && errno != ECONNRESET)
		flow_error(flow, "receiving: %s", strerror(errno));
	if (got == 0 && flow->kind == FLOW_TCP)
		flow_completed(flow);
}

/* On a real network any host may connect; only the flow's sender is accepted. */
static int accept_sender(const struct flow *flow)
{
	in_addr_t sender = flow->from->host_address.s_addr;

	for (;;) {
		struct sockaddr_in peer = {0};
		socklen_t size = sizeof(peer);
		int fd = accept4(flow->traffic->listener_fd, (struct sockaddr *)&peer, &size,
				 SOCK_CLOEXEC);

		if (fd < 0 || !sender || peer.sin_addr.s_addr == sender)
			return fd;
		tcp_abort(fd);
	}
}

void *tcp_receive_thread(void *argument)
{
	struct flow *flow = argument;
	struct traffic *traffic = flow->traffic;

	do {
		int fd = accept_sender(flow);

		if (fd < 0) {
			flow_error(flow, "accepting: %s", strerror(errno));
			break;
		}
		pthread_mutex_lock(&traffic_lock);
		traffic->receiver_fd = fd;
		pthread_mutex_unlock(&traffic_lock);
		receive_all(flow, fd);
		tcp_account_receiver(flow, fd);
		pthread_mutex_lock(&traffic_lock);
		traffic->receiver_fd = -1;
		pthread_mutex_unlock(&traffic_lock);
		close(fd);
	} while (flow->kind == FLOW_WEB);
	return NULL;
}
