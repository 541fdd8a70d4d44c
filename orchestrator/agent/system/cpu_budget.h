/* Whether this machine kept up with real time: how late its timers were, and how busy its processors. */
#ifndef LONGHAUL_CPU_BUDGET_H
#define LONGHAUL_CPU_BUDGET_H

#include "system/json_writer.h"

/* Counts from time zero until budget_stop. */
void budget_start(void);
void budget_stop(void);
/* Members of the object "machine" of facts.json. */
void budget_write(struct writer *writer);

#endif
