/*
 * Most network settings belong to a namespace; some exist once for the kernel and are found only
 * from the namespace the agent was born in: those are of the plan, not of a node.
 */
#include "net/sysctl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/nodes.h"
#include "system/calls.h"
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
 * Settings are written and read back many at once, and their files are closed together: in a guest the way into the kernel
 * costs more than what it does there.
 */
#define SETTINGS_AT_ONCE 16
#define CALLS_OF_ONE	 3

struct setting {
	const char *node, *name, *value;
	char path[160], read_back[512];
	bool may_lack; /* by a kernel without it */
	const char **
		kept; /* what the kernel holds after the write, in memory that stays; NULL: it is not kept */
};

static struct setting settings[SETTINGS_AT_ONCE];
static size_t setting_count;

static void close_files(const struct call *calls)
{
	long first = -1, last = -1, files = 0;

	for (size_t i = 0; i < setting_count; i++) {
		long fd = calls[i * CALLS_OF_ONE].result;

		if (fd < 0)
			continue;
		/* Each got the lowest free number, so that they rise; there may be others between them. */
		first = files++ ? first : fd;
		last = fd;
	}
	if (!files ||
	    (last - first + 1 == files && !close_range((unsigned)first, (unsigned)last, 0)))
		return;
	for (size_t i = 0; i < setting_count; i++)
		if (calls[i * CALLS_OF_ONE].result >= 0)
			close((int)calls[i * CALLS_OF_ONE].result);
}

static void check(struct setting *setting, const struct call *calls)
{
	long opened = calls[0].result, written = calls[1].result, got = calls[2].result;
	char subject[256], asked[512];

	if (opened == -ENOENT && setting->may_lack)
		return;
	snprintf(subject, sizeof(subject), "%s of node %s", setting->name, setting->node);
	if (written < 0)
		die("setting", subject, "the guest kernel may not know this setting", "%s: %s",
		    setting->value, strerror((int)-written));
	setting->read_back[got > 0 ? got : 0] = 0;
	snprintf(asked, sizeof(asked), "%s", setting->value);
	squeeze(asked);
	squeeze(setting->read_back);
	if (strcmp(asked, setting->read_back))
		die("reading back", subject, "the guest kernel does not do what the plan needs",
		    "it was asked to be %s and reads %s", asked, setting->read_back);
	if (setting->kept)
		*setting->kept = strdup(setting->read_back);
}

static void write_settings(void)
{
	static struct call calls[SETTINGS_AT_ONCE * CALLS_OF_ONE];

	for (size_t i = 0; i < setting_count; i++) {
		struct setting *one = &settings[i];
		struct call *its = &calls[i * CALLS_OF_ONE];
		int opening = (int)i * CALLS_OF_ONE;

		its[0] = (struct call){.number = SYS_openat,
				       .arguments = {AT_FDCWD, (long)one->path, O_RDWR | O_CLOEXEC},
				       .after = -1};
		its[1] = (struct call){.number = SYS_write,
				       .arguments = {0, (long)one->value, (long)strlen(one->value)},
				       .after = opening,
				       .takes = 1};
		its[2] = (struct call){
			.number = SYS_pread64,
			.arguments = {0, (long)one->read_back, sizeof(one->read_back) - 1},
			.after = opening,
			.takes = 1};
	}
	calls_make(calls, setting_count * CALLS_OF_ONE);
	close_files(calls);
	for (size_t i = 0; i < setting_count; i++)
		check(&settings[i], &calls[i * CALLS_OF_ONE]);
	setting_count = 0;
}

/* Writes it with the next ones, at the latest when write_settings() is called; the texts must stay until then. */
static void set(const char *node, const char *name, const char *value, bool may_lack,
		const char **kept)
{
	struct setting *one = &settings[setting_count++];

	one->node = node;
	one->name = name;
	one->value = value;
	one->may_lack = may_lack;
	one->kept = kept;
	snprintf(one->path, sizeof(one->path), "/proc/sys/%s", name);
	if (setting_count == SETTINGS_AT_ONCE)
		write_settings();
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

void sysctl_of_log(const struct plan *plan, bool all)
{
	/* Up to informational: pr_info() of a module, and where in the code a panic was. */
	if (plan->on_host)
		return;
	set("(the guest)", "kernel/printk", all ? "7 4 1 7" : "5 4 1 7", false, NULL);
	write_settings();
}

void sysctls_of_guest(const struct plan *plan)
{
	if (plan->on_host)
		return;
	/* A burst of one instant may be any size: the backlog of a softirq must take it. */
	set("(the guest)", "net/core/netdev_max_backlog", "10000000", false, NULL);
	for (size_t i = 0; i < plan->sysctl_count; i++)
		set("(the guest)", plan->sysctls[i].name, plan->sysctls[i].value, false, NULL);
	write_settings();
}

/* A host's kernel draws from the seed and the host's name, whichever other hosts share its guest (FNV-1a). */
static void set_draws(const struct plan *plan, const struct node *node)
{
	uint64_t key = 0xcbf29ce484222325ull;
	static char text[64]; /* written before the next node's */

	snprintf(text, sizeof(text), "%" PRIu64 "/", plan->seed);
	for (const char *part = text; *part; part++)
		key = (key ^ (unsigned char)*part) * 0x100000001b3ull;
	for (const char *part = node->name; *part; part++)
		key = (key ^ (unsigned char)*part) * 0x100000001b3ull;
	/* 0 is a host without a key. */
	snprintf(text, sizeof(text), "%" PRIu64, key | 1);
	set(node->name, "net/core/draws_key", text, true, NULL);
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
			set(node->name, no_ipv6[j], "1", true, NULL);
		set_draws(plan, node);
		for (size_t j = 0; j < node->sysctl_count; j++) {
			const struct pair *pair = &node->sysctls[j];

			set(node->name, pair->name, pair->value, false, &node->sysctls_read[j]);
		}
		write_settings();
		leave_node();
	}
}
