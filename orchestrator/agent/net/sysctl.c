/*
 * Most network settings belong to a namespace; some exist once for the kernel and are found only
 * from the namespace the agent was born in: those are of the plan, not of a node.
 */
#include "net/sysctl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/nodes.h"
#include "system/fatal.h"

/* "4096	131072	6291456\n" and "4096 131072 6291456" are the same value. */
static void squeeze(char *text)
{
	char *out = text;

	for (char *in = text; *in; in++) {
		if (!isspace((unsigned char)*in))
			*out++ = *in;
		else if (out > text && out[-1] != ' ')
			*out++ = ' ';
	}
	if (out > text && out[-1] == ' ')
		out--;
	*out = 0;
}

/*
 * The files of settings that are read back, closed together: in a guest every call costs more than
 * what it does.
 */
#define FILES_AT_ONCE 64

static int opened[FILES_AT_ONCE];
static int opened_count;

static void close_settings(void)
{
	int first, last;

	if (!opened_count)
		return;
	first = opened[0];
	last = opened[opened_count - 1];
	/* Each got the lowest free number, so that they rise; there may be others between them. */
	if (last - first + 1 != opened_count || close_range(first, last, 0))
		for (int i = 0; i < opened_count; i++)
			close(opened[i]);
	opened_count = 0;
}

static void close_later(int fd)
{
	opened[opened_count++] = fd;
	if (opened_count == FILES_AT_ONCE)
		close_settings();
}

/* What the kernel holds after the write, in memory that stays; NULL if it may lack the setting and does. */
static char *write_and_read(const char *node, const char *name, const char *value, bool may_lack)
{
	char path[256], subject[256], asked[512], read_back[512];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	snprintf(subject, sizeof(subject), "%s of node %s", name, node);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && may_lack)
		return NULL;
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die("setting", subject, "the guest kernel may not know this setting", "%s: %s",
		    value, strerror(errno));
	got = pread(fd, read_back, sizeof(read_back) - 1, 0);
	close_later(fd);
	read_back[got > 0 ? got : 0] = 0;
	snprintf(asked, sizeof(asked), "%s", value);
	squeeze(asked);
	squeeze(read_back);
	if (strcmp(asked, read_back))
		die("reading back", subject, "the guest kernel does not do what the plan needs",
		    "it was asked to be %s and reads %s", asked, read_back);
	return strdup(read_back);
}

char *sysctl_of_machine(const char *name)
{
	char path[256], text[512];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	squeeze(text);
	return strdup(text);
}

static void sysctl_write(const char *node, const char *name, const char *value)
{
	free(write_and_read(node, name, value, false));
}

static void sysctl_write_if_known(const char *node, const char *name, const char *value)
{
	free(write_and_read(node, name, value, true));
}

void sysctl_of_log(const struct plan *plan, bool all)
{
	/* Up to informational: pr_info() of a module, and where in the code a panic was. */
	if (plan->on_host)
		return;
	sysctl_write("(the guest)", "kernel/printk", all ? "7 4 1 7" : "5 4 1 7");
	close_settings();
}

void sysctls_of_guest(const struct plan *plan)
{
	if (plan->on_host)
		return;
	/* A burst of one instant may be any size: the backlog of a softirq must take it. */
	sysctl_write("(the guest)", "net/core/netdev_max_backlog", "10000000");
	for (size_t i = 0; i < plan->sysctl_count; i++)
		sysctl_write("(the guest)", plan->sysctls[i].name, plan->sysctls[i].value);
	close_settings();
}

/* A host's kernel draws from the seed and the host's name, whichever other hosts share its guest (FNV-1a). */
static void set_draws(const struct plan *plan, const struct node *node)
{
	uint64_t key = 0xcbf29ce484222325ull;
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 "/", plan->seed);
	for (const char *part = text; *part; part++)
		key = (key ^ (unsigned char)*part) * 0x100000001b3ull;
	for (const char *part = node->name; *part; part++)
		key = (key ^ (unsigned char)*part) * 0x100000001b3ull;
	/* 0 is a host without a key. */
	snprintf(text, sizeof(text), "%" PRIu64, key | 1);
	sysctl_write_if_known(node->name, "net/core/draws_key", text);
}

void sysctls_of_nodes(struct plan *plan)
{
	static const char *const no_ipv6[] = {"net/ipv6/conf/all/disable_ipv6",
					      "net/ipv6/conf/default/disable_ipv6"};

	for (size_t i = 0; i < plan->node_count; i++) {
		struct node *node = &plan->nodes[i];

		if (node->elsewhere)
			continue;
		enter_node(node);
		/* Neighbour discovery would put packets of its own into the queues. */
		for (int j = 0; j < 2; j++)
			sysctl_write_if_known(node->name, no_ipv6[j], "1");
		set_draws(plan, node);
		for (size_t j = 0; j < node->sysctl_count; j++) {
			const struct pair *pair = &node->sysctls[j];

			node->sysctls_read[j] =
				write_and_read(node->name, pair->name, pair->value, false);
		}
		close_settings();
		leave_node();
	}
}
