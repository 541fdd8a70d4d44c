/* Whether this machine kept up with the real clock: what it had to spare, and what it took from the run. */
#ifndef LONGHAUL_BUDGET_H
#define LONGHAUL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

/* From time zero to budget_stop everything counts. */
void budget_start(void);
void budget_stop(void);
/* The object "machine" of facts.json. */
void budget_write(struct writer *writer);

#endif
