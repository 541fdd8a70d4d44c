/* The lock of a run is a descriptor that its worker inherits, so it is free only when both are gone. */
#include "host/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/byte_quota.h"
#include "host/limits.h"
#include "host/restore.h"
#include "system/fatal.h"
#include "system/files.h"

#define RUNS	   "/run/longhaul"
#define TRIES	   100
#define PAUSE_NS   100000000
#define PATH_BYTES 512

static void make_folder(const char *path, mode_t mode)
{
	if (mkdir(path, mode) && errno != EEXIST)
		die("making the folder", path, "be root", "%s", strerror(errno));
}

/* The descriptor of a lock that is now ours, or -1. */
static int try_lock(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void host_claim(void)
{
	/* Every host that may be used has this file. */
	if (try_lock(LIMITS_FILE, 0) < 0)
		die("taking this host", "",
		    "wait for it, at most 30 s if its controller is gone, or end it with `longhaul hosts stop`",
		    errno == EWOULDBLOCK ? "another run is on it" : "%s", strerror(errno));
}

static void write_pid(const char *directory)
{
	char path[PATH_BYTES + 8], text[32];
	int length = snprintf(text, sizeof(text), "%d\n", getpid());

	snprintf(path, sizeof(path), "%s/pid", directory);
	if (!write_whole_file(path, text, (size_t)length))
		die("writing", path, "", "%s", strerror(errno));
}

const char *run_make(const char *name)
{
	char path[PATH_BYTES], lock[PATH_BYTES + 8];

	if (!*name || strlen(name) > 64 ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name))
		die("making the run directory", name, "", "it is no name of a run");
	make_folder(RUNS, 0755);
	snprintf(path, sizeof(path), RUNS "/%s", name);
	if (mkdir(path, 0700))
		die("making the run directory", path, "", "%s", strerror(errno));
	snprintf(lock, sizeof(lock), "%s/lock", path);
	if (try_lock(lock, O_CREAT | O_EXCL) < 0)
		die("locking the run directory", path, "", "%s", strerror(errno));
	write_pid(path);
	return strdup(path);
}

static uint64_t number_in(const char *directory, const char *name)
{
	char path[PATH_BYTES];
	uint64_t number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%" SCNu64, &number) != 1)
		number = 0;
	fclose(file);
	return number;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	remove(path);
	return 0;
}

int run_clear(const char *directory)
{
	int left = undo_all(directory);

	volume_add(number_in(directory, "sent"));
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	/* The folder goes too, unless another program has something there. */
	rmdir(RUNS);
	return left;
}

/* Calls for each run directory, with its lock if it is free, else -1. */
static int visit_runs(void (*visit)(const char *directory, int lock))
{
	DIR *folder = opendir(RUNS);
	int count = 0;

	for (struct dirent *one; folder && (one = readdir(folder));) {
		char path[PATH_BYTES], lock[PATH_BYTES + 8];

		snprintf(path, sizeof(path), RUNS "/%s", one->d_name);
		snprintf(lock, sizeof(lock), "%s/lock", path);
		/* Mininet has a folder there too. */
		if (*one->d_name == '.' || access(lock, F_OK))
			continue;
		count++;
		visit(path, try_lock(lock, 0));
	}
	if (folder)
		closedir(folder);
	return count;
}

static void sweep_one(const char *directory, int lock)
{
	if (lock < 0)
		return;
	if (run_clear(directory))
		say("what the dead run in %s had changed could not all be put back", directory);
	close(lock);
}

void runs_sweep(void)
{
	visit_runs(sweep_one);
}

static void halt_one(const char *directory, int lock)
{
	pid_t pid = (pid_t)number_in(directory, "pid");

	if (lock < 0 && pid > 1)
		kill(pid, SIGTERM);
	else if (lock >= 0)
		sweep_one(directory, lock);
}

static void count_one(const char *directory, int lock)
{
	(void)directory;
	if (lock >= 0)
		close(lock);
}

int halt_run(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int found = visit_runs(halt_one);

	for (int i = 0; i < TRIES && visit_runs(count_one); i++)
		nanosleep(&pause, NULL);
	if (visit_runs(count_one))
		die("ending the runs on", "this host", "look at its processes",
		    "one of %d is still there", found);
	printf("%d\n", found);
	return 0;
}
