/* Files that are whole or not there. */
#ifndef LONGHAUL_FILES_H
#define LONGHAUL_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* From here on a file is written when the guest's host has it; without this call, when the disk has it. */
void files_of_guest(void);
/* Replaces `path` by `text` in one step and puts it on the disk; false with errno set if it cannot. */
bool write_whole_file(const char *path, const char *text, size_t length);

#endif
