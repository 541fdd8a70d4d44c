/*
 * A locked cwnd of a route becomes the clamp of a connection only through the kernel's cache of TCP
 * metrics, and the cache gets its entry when a connection to that address ends (tcp_init_metrics and
 * tcp_update_metrics in net/ipv4/tcp_metrics.c). So one empty connection goes before the first flow,
 * from each sender to each address with a clamp. It is over before time zero and has no mark, so the
 * probe does not see it. Of what it leaves behind only the clamp matters: ssthresh is not cached, and
 * the round trip would serve for a first retransmission timeout alone.
 */
#include "prime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "die.h"
#include "links.h"
#include "sysctl.h"

#define PRIME_PORT 9999
#define NO_SAVE	   "net/ipv4/tcp_no_metrics_save"

static bool covers(const struct route *route, struct in_addr address)
{
	uint32_t mask = route->prefix ? htonl(~0u << (32 - route->prefix)) : 0;

	return ((route->to.s_addr ^ address.s_addr) & mask) == 0;
}

static bool is_clamped(const struct plan *plan, const struct flow *flow)
{
	for (size_t i = 0; i < plan->route_count; i++)
		if (plan->routes[i].node == flow->from && plan->routes[i].cwnd_clamp &&
		    covers(&plan->routes[i], flow->address))
			return true;
	return false;
}

static bool is_first(const struct plan *plan, const struct flow *flow)
{
	for (const struct flow *earlier = plan->flows; earlier < flow; earlier++)
		if (earlier->kind != FLOW_UDP && earlier->from == flow->from &&
		    earlier->address.s_addr == flow->address.s_addr)
			return false;
	return true;
}

static void check(bool good, const struct flow *flow, const char *what)
{
	if (!good)
		die("priming the window clamp for flow", flow->name, "the path may lose every packet",
		    "%s: %s", what, strerror(errno));
}

static int stream(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* "0\n" or "1\n" of the node the caller is in. */
static void read_no_save(char value[2])
{
	int fd = open("/proc/sys/" NO_SAVE, O_RDONLY | O_CLOEXEC);

	value[0] = '0';
	value[1] = 0;
	if (fd < 0 || read(fd, value, 1) != 1)
		die("reading setting", NO_SAVE, "", "%s", strerror(errno));
	close(fd);
}

static void connect_once(const struct flow *flow)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(PRIME_PORT), .sin_addr = flow->address};
	const struct sockaddr *generic = (const struct sockaddr *)&address;
	int listener, sender, receiver;
	char no_save[2], byte;

	enter_node(flow->to);
	listener = stream();
	check(listener >= 0 && !bind(listener, generic, sizeof(address)) && !listen(listener, 1), flow,
	      "listening");
	enter_node(flow->from);
	read_no_save(no_save);
	sysctl_write(flow->from->name, NO_SAVE, "0");
	sender = stream();
	check(sender >= 0 && !connect(sender, generic, sizeof(address)), flow, "connecting");
	receiver = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	check(receiver >= 0 && !shutdown(sender, SHUT_WR), flow, "accepting");
	check(recv(receiver, &byte, 1, 0) == 0, flow, "waiting for the end");
	close(receiver);
	check(recv(sender, &byte, 1, 0) == 0, flow, "waiting for the end");
	close(sender);
	close(listener);
	sysctl_write(flow->from->name, NO_SAVE, no_save);
	leave_node();
}

void prime_clamps(const struct plan *plan)
{
	for (const struct flow *flow = plan->flows; flow < plan->flows + plan->flow_count; flow++)
		if (flow->kind != FLOW_UDP && is_clamped(plan, flow) && is_first(plan, flow))
			connect_once(flow);
}
