/* Small files under /sys/class/net, a number each. */
#include "net/nic.h"

#include <inttypes.h>
#include <stdio.h>

#define USUAL_MTU     1500
#define TCP_HEADERS   52 /* IPv4, TCP and its timestamps */
#define FRAME_HEADERS 14

static bool read_number(const char *device, const char *name, uint64_t *number)
{
	char path[128];
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", device, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fscanf(file, "%" SCNu64, number) == 1;
	fclose(file);
	return found;
}

bool nic_read(const char *device, struct nic_counters *counters)
{
	return read_number(device, "statistics/rx_packets", &counters->rx_packets) &&
	       read_number(device, "statistics/rx_bytes", &counters->rx_bytes) &&
	       read_number(device, "statistics/rx_dropped", &counters->rx_dropped) &&
	       read_number(device, "statistics/tx_packets", &counters->tx_packets) &&
	       read_number(device, "statistics/tx_bytes", &counters->tx_bytes) &&
	       read_number(device, "statistics/tx_dropped", &counters->tx_dropped);
}

uint32_t nic_mtu(const char *device)
{
	uint64_t mtu;

	return read_number(device, "mtu", &mtu) ? (uint32_t)mtu : 0;
}

uint32_t nic_payload(const char *device)
{
	uint32_t mtu = nic_mtu(device);

	return (mtu > 2 * TCP_HEADERS ? mtu : USUAL_MTU) - TCP_HEADERS;
}

uint32_t nic_frame(const char *device)
{
	return nic_payload(device) + TCP_HEADERS + FRAME_HEADERS;
}
