/* A JSON file as a tree. */
#ifndef LONGHAUL_JSON_FILE_H
#define LONGHAUL_JSON_FILE_H

#include "system/json_reader.h"

/* The whole file; it stays in memory for the life of the agent, since names and texts point into it. */
const struct json *json_read_file(const char *path, const char *attempting);

#endif
