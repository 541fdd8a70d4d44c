/*
 * The guest's first process: mounts what every program expects, and executes the run that lies in
 * its root, or the program that the host has put there instead (program.h).
 */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "guest/program.h"
#include "plan/run_json.h"
#include "run/run.h"
#include "run/template.h"
#include "system/fatal.h"

static void mount_all(void)
{
	static const char *const mounts[][2] = {
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++)
		/* A kernel may have mounted /dev by itself. */
		if (mount(mounts[i][0], mounts[i][1], mounts[i][0], 0, NULL) && errno != EBUSY)
			die("mounting", mounts[i][1],
			    "the guest's folder must be there and the kernel know it", "%s",
			    strerror(errno));
}

/* The root of the guest has no /dev when the kernel looks for a console for its first process. */
static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	for (int i = 0; i < 3 && fd >= 0; i++)
		dup2(fd, i);
	if (fd > 2)
		close(fd);
}

/* For programs of the host that the backend has put here: their libraries, and where their temporary files go. */
static void set_environment(void)
{
	if (setenv("PATH", "/bin", 1) || setenv("LD_LIBRARY_PATH", "/lib", 1) ||
	    setenv("TMPDIR", "/run", 1))
		die("setting the environment of programs", "", "", "%s", strerror(errno));
}

_Noreturn void guest_run(void)
{
	static struct plan plan;

	die_as_guest();
	mount_all();
	open_console();
	run_prepare();
	if (program_is_asked())
		program_run();
	set_environment();
	plan_read(template_is_asked() ? TEMPLATE_PLAN : PLAN, &plan);
	run_execute(&plan);
	finish();
}
