/* How much this host has sent for runs today (UTC), over all runs: a small file that outlives them. */
#ifndef LONGHAUL_BYTE_QUOTA_H
#define LONGHAUL_BYTE_QUOTA_H

#include <stdint.h>

/* Bytes of today so far. */
uint64_t volume_today(void);
void volume_add(uint64_t bytes);

#endif
