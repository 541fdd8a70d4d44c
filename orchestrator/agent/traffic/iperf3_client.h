/* The sending end of a flow of iperf3. */
#ifndef LONGHAUL_IPERF3_CLIENT_H
#define LONGHAUL_IPERF3_CLIENT_H

void *iperf3_send_thread(void *flow);

#endif
