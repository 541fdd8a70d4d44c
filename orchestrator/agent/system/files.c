/* A file is written beside its place and then renamed, so that a reader never sees a part of it. */
#include "system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static bool in_guest;

void files_of_guest(void)
{
	in_guest = true;
}

/* A guest's file is whole once its host has taken it, which a full disk refuses; a host's must outlive a power cut. */
static int settle(int fd)
{
	if (in_guest)
		return sync_file_range(fd, 0, 0,
				       SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					       SYNC_FILE_RANGE_WAIT_AFTER);
	return fsync(fd);
}

bool write_whole_file(const char *path, const char *text, size_t length)
{
	char partial[256];
	int fd, problem;

	snprintf(partial, sizeof(partial), "%s.partial", path);
	fd = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	while (length) {
		ssize_t done = write(fd, text, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			goto failed;
		text += done;
		length -= (size_t)done;
	}
	if (settle(fd))
		goto failed;
	close(fd);
	return rename(partial, path) == 0;
failed:
	problem = errno ? errno : EIO;
	close(fd);
	unlink(partial);
	errno = problem;
	return false;
}
