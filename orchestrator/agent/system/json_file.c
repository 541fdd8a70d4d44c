/* Files are small: each is read in one piece and parsed at once. */
#include "system/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/fatal.h"

static char *read_whole(const char *path, const char *attempting, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat info;
	char *text;

	if (fd < 0 || fstat(fd, &info))
		die(attempting, path, "the backend puts it there", "%s", strerror(errno));
	text = need_memory((size_t)info.st_size + 1, 1);
	for (*length = 0; *length < (size_t)info.st_size;) {
		ssize_t got = read(fd, text + *length, (size_t)info.st_size - *length);

		if (got <= 0)
			die(attempting, path, "", "%s", got ? strerror(errno) : "it shrank");
		*length += (size_t)got;
	}
	close(fd);
	return text;
}

const struct json *json_read_file(const char *path, const char *attempting)
{
	struct json_error error;
	size_t length;
	char *text = read_whole(path, attempting, &length);
	const struct json *root = json_parse(text, length, &error);

	if (!root)
		die(attempting, path, "", "line %zu, column %zu: %s", error.line, error.column,
		    error.what);
	return root;
}
