/* Requests and responses over UDP, of one packet each: the flow's receiver asks, its sender answers. */
#ifndef LONGHAUL_PINGS_H
#define LONGHAUL_PINGS_H

#include "plan/plan.h"

void pings_prepare_client(struct flow *flow);
void pings_prepare_server(struct flow *flow);
void *pings_serve_thread(void *flow);
void *pings_ask_thread(void *flow);
/* At the end of the run: the DSCP of both sockets. */
void pings_count(struct flow *flow);

#endif
