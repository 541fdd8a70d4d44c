/* All that waits lies in one buffer; what is large (the trace) is only read when the buffer is empty. */
#include "host/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/fatal.h"

#define HEADER_BYTES 8

static int out_fd = -1;
static char *waiting;
static size_t first, used, size;
static bool deaf;

void frames_open(void)
{
	out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (out_fd < 0 || fcntl(out_fd, F_SETFL, O_NONBLOCK) ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		die("taking standard output for frames", "", "", "%s", strerror(errno));
}

static void add(const void *bytes, size_t length)
{
	if (used + length > size && first) {
		memmove(waiting, waiting + first, used - first);
		used -= first;
		first = 0;
	}
	if (used + length > size) {
		size = (used + length) * 2;
		waiting = realloc(waiting, size);
		if (!waiting)
			die("sending a frame", "", "", "no memory for %zu bytes", size);
	}
	if (length)
		memcpy(waiting + used, bytes, length);
	used += length;
}

void frame_send(const char kind[4], const void *payload, size_t length)
{
	uint32_t count = (uint32_t)length;
	unsigned char header[HEADER_BYTES] = {0};

	memcpy(header, kind, 4);
	for (int i = 0; i < 4; i++)
		header[4 + i] = (unsigned char)(count >> (8 * i));
	add(header, sizeof(header));
	add(payload, length);
	frames_push();
}

void frame_send_document(const char kind[4], struct writer *writer)
{
	fclose(writer->stream);
	frame_send(kind, writer->text, writer->length);
	free(writer->text);
}

void frame_send_file(const char kind[4], const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	char *text;
	ssize_t got;

	if (fd < 0 || fstat(fd, &info)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	text = need_memory((size_t)info.st_size + 1, 1);
	got = read(fd, text, (size_t)info.st_size);
	close(fd);
	if (got > 0)
		frame_send(kind, text, (size_t)got);
	free(text);
}

bool frames_empty(void)
{
	return first == used;
}

int frames_fd(void)
{
	return out_fd;
}

bool frames_push(void)
{
	while (!deaf && first < used) {
		ssize_t done = write(out_fd, waiting + first, used - first);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN)
			break;
		if (done <= 0) {
			deaf = true;
			break;
		}
		first += (size_t)done;
	}
	if (deaf || first == used)
		first = used = 0;
	return !deaf;
}
