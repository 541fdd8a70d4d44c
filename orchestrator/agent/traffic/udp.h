/* UDP flows: a constant rate, always or in periods. */
#ifndef LONGHAUL_UDP_H
#define LONGHAUL_UDP_H

#include "plan/plan.h"

void udp_prepare_receiver(struct flow *flow);
void udp_prepare_sender(struct flow *flow);
void *udp_send_thread(void *flow);
void *udp_receive_thread(void *flow);
/* At the end of the run: reads and counts what has come. */
void udp_count(struct flow *flow);

#endif
