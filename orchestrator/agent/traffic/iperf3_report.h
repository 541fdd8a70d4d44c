/* The JSON that client and server of an iperf3 flow leave. */
#ifndef LONGHAUL_IPERF3_REPORT_H
#define LONGHAUL_IPERF3_REPORT_H

#include "plan/plan.h"
#include "system/json_writer.h"

/* What both report to have counted, as an object of facts.json. */
void iperf3_write_report(struct writer *writer, const struct flow *flow);
/* Whether a client that ended reports that it got no answer for as long as TCP tries. */
bool iperf3_gave_up(const struct flow *flow);

#endif
