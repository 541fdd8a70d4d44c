/*
 * A node is a network namespace. Its sockets are opened while this process is inside; later requests go
 * through them without a change of namespace.
 */
#include "net/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "system/fatal.h"

static int birth_namespace = -1;

void ask_node(const struct node *node, struct request *request, const char *attempting,
	      const char *thing)
{
	char why[256], subject[128];

	if (!netlink_ask(node->rtnl_fd, request, why, sizeof(why)))
		return;
	snprintf(subject, sizeof(subject), "%s of node %s", thing, node->name);
	die(attempting, subject, "", "%s", why);
}

int ioctl_node(const struct node *node, unsigned long operation, struct ifreq *ifreq)
{
	return ioctl(node->inet_fd, operation, ifreq);
}

void enter_node(const struct node *node)
{
	if (setns(node->namespace_fd, CLONE_NEWNET))
		die("entering node", node->name, "", "%s", strerror(errno));
}

void leave_node(void)
{
	if (setns(birth_namespace, CLONE_NEWNET))
		die("leaving a node", "", "", "%s", strerror(errno));
}

static int open_here(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("opening", path, "the guest kernel needs procfs and network namespaces", "%s",
		    strerror(errno));
	return fd;
}

void device_up(const struct node *node, const char *dev, unsigned int index)
{
	struct ifinfomsg body = {
		.ifi_index = (int)index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	struct request request;

	request_begin(&request, RTM_NEWLINK, 0, &body, sizeof(body));
	ask_node(node, &request, "bringing up", dev);
}

static void enter_first(const struct node *node)
{
	char path[32];
	int fd;

	if (!node->process) {
		if (unshare(CLONE_NEWNET))
			die("making node", node->name, "the guest kernel needs CONFIG_NET_NS", "%s",
			    strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/net", node->process);
	fd = open_here(path);
	if (setns(fd, CLONE_NEWNET))
		die("entering the namespace of node", node->name, "", "%s", strerror(errno));
	close(fd);
}

/* The sockets of the namespace that this process is in: from here on requests to the node go through them. */
static void open_node(struct node *node)
{
	node->namespace_fd = open_here("/proc/self/ns/net");
	node->snmp_fd = open_here("/proc/self/net/snmp");
	node->rtnl_fd = netlink_open(NETLINK_ROUTE);
	node->inet_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (node->inet_fd < 0)
		die("making node", node->name, "the guest kernel needs CONFIG_INET", "%s",
		    strerror(errno));
}

void nodes_create(struct plan *plan)
{
	birth_namespace = open_here("/proc/self/ns/net");
	for (size_t i = 0; i < plan->node_count; i++) {
		if (plan->nodes[i].elsewhere)
			continue;
		enter_first(&plan->nodes[i]);
		open_node(&plan->nodes[i]);
		device_up(&plan->nodes[i], "lo", 1);
	}
	leave_node();
}

void nodes_adopt(struct plan *plan)
{
	birth_namespace = open_here("/proc/self/ns/net");
	for (size_t i = 0; i < plan->node_count; i++)
		if (!plan->nodes[i].elsewhere)
			open_node(&plan->nodes[i]);
}
