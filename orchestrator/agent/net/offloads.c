/*
 * Features are found by the names the kernel gives them (as in `ethtool -k`), because their numbers
 * change between kernels. With segmentation offload a loss of one packet would be a loss of up to 44,
 * and a queue limit would count such heaps.
 */
#include "net/offloads.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>

#include "net/nodes.h"
#include "net/readback.h"
#include "system/fatal.h"

static void ethtool(const struct end *end, void *command, const char *what)
{
	struct ifreq ifreq = {0};

	memcpy(ifreq.ifr_name, end->dev, strlen(end->dev));
	ifreq.ifr_data = command;
	if (ioctl_node(end->node, SIOCETHTOOL, &ifreq) < 0)
		refuse_reading(end, what, "answered", strerror(errno));
}

static bool ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name), tail = strlen(ending);

	return length >= tail && !strcmp(name + length - tail, ending);
}

static bool is_unwanted(const char *name)
{
	return ends_with(name, "-segmentation") || !strncmp(name, "tx-gso-", 7) ||
	       !strncmp(name, "rx-gro", 6) || !strcmp(name, "rx-lro") ||
	       !strcmp(name, "rx-udp-gro-forwarding");
}

/*
 * On a host with offloads TCP gives its device up to 64 KB at once, which leaves in frames, and frames that arrive together
 * are joined: no link carries more than a frame.
 */
static bool is_wanted(const struct end *end, const char *name)
{
	return end->offloads &&
	       (!strcmp(name, "tx-generic-segmentation") || !strcmp(name, "rx-gro"));
}

static struct ethtool_gstrings *read_names(const struct end *end)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} set = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};
	struct ethtool_gstrings *names;

	ethtool(end, &set, "the number of features");
	names = need_memory(1, sizeof(*names) + (size_t)set.info.data[0] * ETH_GSTRING_LEN);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = set.info.data[0];
	ethtool(end, names, "the names of features");
	return names;
}

void offloads_set(struct end *end)
{
	struct ethtool_gstrings *names = read_names(end);
	uint32_t blocks = (names->len + 31) / 32;
	struct ethtool_gfeatures *get =
		need_memory(1, sizeof(*get) + blocks * sizeof(get->features[0]));
	struct ethtool_sfeatures *set =
		need_memory(1, sizeof(*set) + blocks * sizeof(set->features[0]));

	get->cmd = ETHTOOL_GFEATURES;
	set->cmd = ETHTOOL_SFEATURES;
	get->size = set->size = blocks;
	ethtool(end, get, "the features");
	for (uint32_t i = 0; i < names->len; i++) {
		uint32_t bit = 1u << i % 32;

		/* The kernel refuses a request for what it may not change. */
		if (is_unwanted((const char *)names->data + i * ETH_GSTRING_LEN) &&
		    get->features[i / 32].available & bit &&
		    !(get->features[i / 32].never_changed & bit))
			set->features[i / 32].valid |= bit;
		if (set->features[i / 32].valid & bit &&
		    is_wanted(end, (const char *)names->data + i * ETH_GSTRING_LEN))
			set->features[i / 32].requested |= bit;
	}
	ethtool(end, set, "setting offloads");
	ethtool(end, get, "the features");
	for (uint32_t i = 0; i < names->len; i++) {
		const char *name = (const char *)names->data + i * ETH_GSTRING_LEN;

		bool active = get->features[i / 32].active & 1u << i % 32,
		     wanted = is_wanted(end, name);

		if (is_unwanted(name) && active != wanted)
			refuse_reading(end, name, wanted ? "on" : "off", active ? "on" : "off");
	}
	end->offloads_off = !end->offloads;
	free(names);
	free(get);
	free(set);
}
