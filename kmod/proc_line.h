/* SPDX-License-Identifier: GPL-2.0 */
/* A command that is written to a file of /proc as one line. */
#ifndef PROC_LINE_H
#define PROC_LINE_H

#include <linux/uaccess.h>

/* Copies it into `line` and obeys it; what write() returns. */
static inline ssize_t obey_written(char *line, size_t room, const char __user *from, size_t count,
				   int (*obey)(const char *line))
{
	int error;

	if (count >= room)
		return -EINVAL;
	if (copy_from_user(line, from, count))
		return -EFAULT;
	line[count] = '\0';
	error = obey(line);
	return error ?: count;
}

#endif
