/* trace.bin as the agent writes it: the same bytes as the probe's (kmod/lh_trace.h). */
#ifndef LONGHAUL_TRACE_FILE_H
#define LONGHAUL_TRACE_FILE_H

#include <stdint.h>

#include "../../kmod/lh_trace.h"

/* Makes the file in the current folder, with its header. */
void trace_open(void);
/* The next record, to be filled in before anything else is asked for; zero but for what they all have. */
void *trace_record(enum lh_kind kind, uint8_t state, uint16_t id, uint64_t at_ns);
void trace_write_out(void);
uint64_t trace_records(void);
uint64_t trace_bytes(void);

#endif
