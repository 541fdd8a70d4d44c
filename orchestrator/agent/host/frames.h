/*
 * What an endpoint sends to its controller: frames on standard output, which never block.
 *
 *     4 letters | length, 32 bits, little-endian | payload
 *
 *     HELO  {"agent", "build", "limits"}                  LOOK  what a look at the machine found
 *     TIME  "N RECEIVED SENT REAL", nanoseconds           ECHO  what probes of the path found
 *     REDY  the worker waits for the start                TRCE  the next bytes of trace.bin
 *     LOGS  the next bytes of log.txt                     FACT  facts.json
 *     STAT  status.json                                   GONE  {"left": things that could not be put back}
 */
#ifndef LONGHAUL_FRAMES_H
#define LONGHAUL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "system/json_writer.h"

/* Takes standard output for frames alone; all other output goes to standard error from here on. */
void frames_open(void);
void frame_send(const char kind[4], const void *payload, size_t length);
/* Sends a finished document and frees it. */
void frame_send_document(const char kind[4], struct writer *writer);
/* Sends a whole file, if there is one. */
void frame_send_file(const char kind[4], const char *path);
/* Whether nothing waits to be written. */
bool frames_empty(void);
/* The descriptor to poll for writing while something waits. */
int frames_fd(void);
/* Writes what can be written; false if the controller no longer reads. */
bool frames_push(void);

#endif
