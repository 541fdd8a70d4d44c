/* A middle box's share of a run: while it lasts, queues on devices of this machine make a wire into a path. */
#ifndef LONGHAUL_MIDDLE_BOX_H
#define LONGHAUL_MIDDLE_BOX_H

#include <stdint.h>

#include "host/limits.h"

/* Reads run.json of the current folder, notes its queues (restore.h), installs them and reads them back; fatal beyond the limits. */
void box_prepare(const struct limits *limits);
/* Waits for the end of a run that begins then, and writes what passed into facts.json. */
void box_run(uint64_t start_ns);

#endif
