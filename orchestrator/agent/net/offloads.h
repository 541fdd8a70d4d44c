/* Segmentation and merging of packets, which the links of an emulated path never have. */
#ifndef LONGHAUL_OFFLOADS_H
#define LONGHAUL_OFFLOADS_H

#include "plan/plan.h"

/* Turns off every feature that makes one packet of many or many of one, but those of a host that asks for them; reads that back. */
void offloads_set(struct end *end);

#endif
