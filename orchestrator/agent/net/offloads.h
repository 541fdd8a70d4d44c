/* Segmentation and merging of packets, which an emulated path must not have. */
#ifndef LONGHAUL_OFFLOADS_H
#define LONGHAUL_OFFLOADS_H

#include "plan/plan.h"

/* Turns off every feature that makes one packet of many or many of one, and reads that back. */
void offloads_off(struct end *end);

#endif
