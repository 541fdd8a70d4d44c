/*
 * Only the kernel can answer for sure: what is built in is in no list of modules. So each thing is tried, in
 * a network namespace that is gone with this process; a kernel that has a module for it loads it on the way, as it
 * would for the run.
 */
#include "host/kernel_probe.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "net/netlink.h"
#include "system/fatal.h"

#define LOOPBACK_INDEX 1

static bool knows_qdisc(int fd, const char *kind)
{
	struct tcmsg body = {
		.tcm_ifindex = LOOPBACK_INDEX, .tcm_parent = TC_H_ROOT, .tcm_handle = 0x10000};
	struct request request;
	char why[256];

	request_begin(&request, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &body, sizeof(body));
	request_add_text(&request, TCA_KIND, kind);
	/* Any other error means that it knows the kind: most kinds ask for options. */
	return netlink_ask(fd, &request, why, sizeof(why)) != ENOENT;
}

static bool knows_link(int fd, const char *kind)
{
	struct ifinfomsg body = {0};
	struct request request;
	char why[256];
	size_t info;

	request_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	info = request_nest(&request, IFLA_LINKINFO);
	request_add_text(&request, IFLA_INFO_KIND, kind);
	request_unnest(&request, info);
	return netlink_ask(fd, &request, why, sizeof(why)) != EOPNOTSUPP;
}

static bool knows_cc(const char *name)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ||
	       !setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) ||
	       errno != ENOENT;
}

static bool knows(int fd, const char *thing)
{
	if (!strncmp(thing, "qdisc:", 6))
		return knows_qdisc(fd, thing + 6);
	if (!strncmp(thing, "link:", 5))
		return knows_link(fd, thing + 5);
	if (!strncmp(thing, "cc:", 3))
		return knows_cc(thing + 3);
	die("asking the kernel for", thing, "longhaul-agent able qdisc:KIND link:KIND cc:NAME ...",
	    "it is none of these");
}

int able_run(int count, char **arguments)
{
	int fd;

	/* Without rights a user namespace gives them, unless the machine forbids that too. */
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		die("making a namespace to ask the kernel in", "", "be root", "%s",
		    strerror(errno));
	fd = netlink_open(NETLINK_ROUTE);
	for (int i = 0; i < count; i++)
		if (!knows(fd, arguments[i]))
			printf("%s ", arguments[i]);
	putchar('\n');
	return 0;
}
