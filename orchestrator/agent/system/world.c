/*
 *     /              the host's files, read-only, through hostfs with the launcher's rights
 *     /tmp /run      empty, in memory; so are /dev/shm and /var/tmp
 *     /run/longhaul  the run directory, for programs that have it
 */
#include "system/world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/fatal.h"

#define HOSTS	 "/etc/hosts"
#define SERVICES "/etc/nsswitch.conf"
/* A name that is no host's is unknown: a question to a name server would be packets. */
#define FILES_ALONE \
	"passwd: files\ngroup: files\nshadow: files\nhosts: files\nprotocols: files\nservices: files\n"

static void mount_one(const char *source, const char *kind, const char *at, unsigned long flags,
		      const char *options)
{
	if (mount(source, at, kind, flags, options))
		die("mounting", at, "the host must have this folder", "%s: %s",
		    kind ? kind : source, strerror(errno));
}

/* Makes a folder and all above it; what is there already stays. */
static void make_folders(const char *path)
{
	char upper[512];

	for (const char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		snprintf(upper, sizeof(upper), "%.*s", (int)(slash - path), path);
		mkdir(upper, 0755);
	}
	if (mkdir(path, 0755) && errno != EEXIST)
		die("making the folder", path, "", "%s", strerror(errno));
}

static void show(const char *folder)
{
	char at[512];
	struct stat info;

	snprintf(at, sizeof(at), WORLD "%s", folder);
	if (stat(at, &info) == 0)
		return;
	make_folders(at);
	mount_one("none", "hostfs", at, MS_RDONLY, folder);
}

static void mount_devices(void)
{
	mount_one("devtmpfs", "devtmpfs", WORLD "/dev", 0, NULL);
	make_folders(WORLD "/dev/pts");
	make_folders(WORLD "/dev/shm");
	mount_one("devpts", "devpts", WORLD "/dev/pts", 0, "mode=620,ptmxmode=666");
	mount_one("tmpfs", "tmpfs", WORLD "/dev/shm", 0, "mode=1777");
	if (symlink("pts/ptmx", WORLD "/dev/ptmx") && errno != EEXIST)
		die("making", "/dev/ptmx", "", "%s", strerror(errno));
	if ((symlink("/proc/self/fd", WORLD "/dev/fd") ||
	     symlink("/proc/self/fd/0", WORLD "/dev/stdin") ||
	     symlink("/proc/self/fd/1", WORLD "/dev/stdout") ||
	     symlink("/proc/self/fd/2", WORLD "/dev/stderr")) &&
	    errno != EEXIST)
		die("making", "/dev/fd", "", "%s", strerror(errno));
}

/* Another text in the place of a file of the host, if the host has it. */
static void replace_file(const char *written, const char *path, const char *text)
{
	int fd = open(written, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("writing", path, "", "%s", strerror(errno));
	close(fd);
	if (mount(written, path, NULL, MS_BIND, NULL) && errno != ENOENT)
		die("mounting", path, "", "%s", strerror(errno));
}

static void name_hosts(const char *text)
{
	replace_file(WORLD "/run/hosts", WORLD HOSTS, text);
	replace_file(WORLD "/run/nsswitch.conf", WORLD SERVICES, FILES_ALONE);
}

void world_enter(const struct world *world)
{
	static const char *const empty[] = {WORLD "/tmp", WORLD "/run", WORLD "/var/tmp"};

	mount_one("none", "hostfs", WORLD, MS_RDONLY, "/");
	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++)
		mount_one("tmpfs", "tmpfs", empty[i], 0, "mode=1777");
	mount_one("proc", "proc", WORLD "/proc", 0, NULL);
	mount_one("sysfs", "sysfs", WORLD "/sys", 0, NULL);
	mount_devices();
	make_folders(WORLD "/run/netns");
	if (world->shared) {
		make_folders(WORLD WORLD_SHARED);
		mount_one("/", NULL, WORLD WORLD_SHARED, MS_BIND, NULL);
	}
	if (world->hosts)
		name_hosts(world->hosts);
	for (size_t i = 0; i < world->show_count; i++)
		show(world->show[i]);
	/* The root of the mount namespace, not of this process alone: a process that joins a namespace made from it has this root. */
	if (chdir(WORLD) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
	    chdir(world->shared ? WORLD_SHARED : "/"))
		die("entering the host's files", "", "", "%s", strerror(errno));
}
