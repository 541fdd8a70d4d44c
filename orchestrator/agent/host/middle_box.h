/* A middle box's share of a run: for as long as it lasts, queues on devices of this machine make a path of what is a wire. */
#ifndef LONGHAUL_BOX_H
#define LONGHAUL_BOX_H

#include <stdint.h>

#include "host/limits.h"

/* Reads run.json of the current folder, has its queues noted down (restore.h), installs them and reads them back; fatal beyond the limits. */
void box_prepare(const struct limits *limits);
/* Waits for the end of a run that begins then, and writes what passed into facts.json. */
void box_carry_out(uint64_t start_ns);

#endif
