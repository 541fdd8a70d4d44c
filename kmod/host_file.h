/* SPDX-License-Identifier: GPL-2.0 */
/* A file of the host that a module writes, through a buffer. User-Mode Linux only. */
#ifndef HOST_FILE_H
#define HOST_FILE_H

#include <linux/vmalloc.h>

#include <os.h>

struct host_file {
	const char *path; /* from the folder of the run */
	const char *content; /* a noun for the message of a failure (orchestrator/backends/deaths.py) */
	unsigned int room, used;
	int fd;
	u64 written;
	u8 *buffer;
};

static inline void write_out(struct host_file *file)
{
	unsigned int done = 0;

	while (done < file->used) {
		int n = os_write_file(file->fd, file->buffer + done, file->used - done);

		if (n > 0)
			done += n;
		else if (n != -EINTR && n != -EAGAIN)
			panic(KBUILD_MODNAME ": writing the %s failed with error %d", file->content, n ? -n : EIO);
	}
	file->written += done;
	file->used = 0;
}

static inline void *reserve(struct host_file *file, unsigned int bytes)
{
	void *room;

	if (file->used + bytes > file->room)
		write_out(file);
	room = file->buffer + file->used;
	file->used += bytes;
	return room;
}

static inline int open_host_file(struct host_file *file)
{
	file->buffer = vmalloc(file->room);
	if (!file->buffer)
		return -ENOMEM;
	file->fd = os_open_file(file->path, of_cloexec(of_trunc(of_create(of_write(OPENFLAGS())))), 0644);
	return file->fd < 0 ? file->fd : 0;
}

static inline void close_host_file(struct host_file *file)
{
	if (file->fd >= 0)
		os_close_file(file->fd);
	vfree(file->buffer);
}

#endif
