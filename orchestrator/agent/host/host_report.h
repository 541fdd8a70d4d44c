/* A look at a real host before and after a run: what could spoil its numbers. Nothing is changed by it. */
#ifndef LONGHAUL_HOST_REPORT_H
#define LONGHAUL_HOST_REPORT_H

#include "host/limits.h"

/* Takes half a second, in which the processors and the device are watched; sends LOOK. `controls` are names with blanks between. */
void look(const struct limits *limits, const char *controls);

#endif
