/* A JSON file as a tree. */
#ifndef LONGHAUL_DOCUMENT_H
#define LONGHAUL_DOCUMENT_H

#include "plan/json.h"

/* The whole file; it stays in memory for the life of the agent, since names and texts point into it. */
const struct json *document_read(const char *path, const char *attempting);

#endif
