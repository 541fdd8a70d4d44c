/* Requests and responses over TCP: the flow's receiver asks, its sender serves, so that the responses are the flow's data. */
#ifndef LONGHAUL_REQUESTS_H
#define LONGHAUL_REQUESTS_H

#include "plan/plan.h"

void requests_prepare_server(struct flow *flow);
void *requests_serve_thread(void *flow);
void *requests_ask_thread(void *flow);

#endif
