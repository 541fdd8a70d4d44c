/* A network device of a real machine, as sysfs shows it. */
#ifndef LONGHAUL_NIC_H
#define LONGHAUL_NIC_H

#include <stdbool.h>
#include <stdint.h>

struct nic_counters {
	uint64_t rx_packets, rx_bytes, rx_dropped, tx_packets, tx_bytes, tx_dropped;
};

/* False if there is no such device. */
bool nic_read(const char *device, struct nic_counters *counters);
/* 0 if there is no such device. */
uint32_t nic_mtu(const char *device);
/* Bytes of a frame on that device that are the application's, of a TCP flow with timestamps, and of the whole frame. */
uint32_t nic_payload(const char *device);
uint32_t nic_frame(const char *device);

#endif
