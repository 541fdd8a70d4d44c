/* The nodes of the plan: network namespaces, and how to ask the kernel inside one. */
#ifndef LONGHAUL_NODES_H
#define LONGHAUL_NODES_H

#include "net/netlink.h"
#include "plan/plan.h"

/* One namespace a node, or the one that was lent for it, each with its sockets, loopback up. */
void nodes_create(struct plan *plan);
/* The nodes that are this machine itself; those of other machines are left out. */
void nodes_adopt(struct plan *plan);

/* Moves the calling thread into a node's network namespace. */
void enter_node(const struct node *node);
/* Back to the namespace the agent was born in. */
void leave_node(void);

/* Asks the kernel for something about a thing of a node; a refusal is fatal and gives the reason. */
void ask_node(const struct node *node, struct request *request, const char *attempting,
	      const char *thing);
/* The same by ioctl about a device: 0, or -1 with errno set. */
int ioctl_node(const struct node *node, unsigned long operation, struct ifreq *ifreq);
/* Brings a device of a node up. */
void device_up(const struct node *node, const char *dev, unsigned int index);

#endif
