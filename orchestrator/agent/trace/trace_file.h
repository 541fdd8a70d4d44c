/* trace.bin as the agent writes it: the same bytes as the probe's (kmod/lh_trace.h). */
#ifndef LONGHAUL_TRACE_FILE_H
#define LONGHAUL_TRACE_FILE_H

#include <lh_trace.h>
#include <stdint.h>

/* Makes the file in the current folder, with its header. */
void trace_open(void);
/* The next record; the caller fills it in before any other call. It is zero but for the fields of every record. */
void *trace_record(enum lh_kind kind, uint8_t state, uint16_t id, uint64_t at_ns);
void trace_write_out(void);
uint64_t trace_records(void);
uint64_t trace_bytes(void);

#endif
