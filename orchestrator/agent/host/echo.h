/*
 * Probes of a path between two endpoints, by UDP on a port that may be used: round trips, losses, the largest packet
 * that passes in one piece, and whether ECN bits arrive as they were sent.
 */
#ifndef LONGHAUL_ECHO_H
#define LONGHAUL_ECHO_H

#include "host/limits.h"

/* Answers probes from now on, from allowed peers alone; the descriptor to poll, fatal if the port is not allowed. */
int echo_open(const struct limits *limits, uint16_t port);
void echo_answer(const struct limits *limits, int fd);
/* Sends so many probes, one each gap, then large ones; sends ECHO. Blocks until the last answer can be there. */
void echo_probe(const struct limits *limits, const char *address, uint16_t port, uint32_t count,
		uint32_t gap_us);
/* Frame bytes that probes and answers took. */
uint64_t echo_sent(void);

#endif
