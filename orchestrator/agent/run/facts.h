/* facts.json: what was read back, and all counters at the end of the run. */
#ifndef LONGHAUL_FACTS_H
#define LONGHAUL_FACTS_H

#include "run/snapshot.h"
#include "trace/prober.h"

void facts_write(const struct plan *plan, const struct snapshot *snapshot,
		 const struct probe_report *probe);

#endif
