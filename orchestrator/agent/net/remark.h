/* A filter that gives the ECN field of what leaves a device another codepoint. */
#ifndef LONGHAUL_REMARK_H
#define LONGHAUL_REMARK_H

#include "plan/plan.h"

/* IPv4 packets with ECT(0) leave as ECT(1); the device has a clsact qdisc. Read back. */
void remark_install(const struct end *end);

#endif
