/*
 * A descriptor of another process is duplicated with pidfd_getfd(2), so that the socket is one and the same: options, counters
 * and its end are shared. Linux has it since 5.6, for callers that may trace the process.
 */
#include "traffic/children.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/nodes.h"
#include "system/fatal.h"

/* The lowest free number is given out: after so many free numbers there are no more descriptors. */
#define FREE_AFTER_LAST 4

static int open_output(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		die("opening", path, "the backend makes its folder", "%s", strerror(errno));
	return fd;
}

pid_t child_start(const struct node *node, char *const words[], const char *output, bool last)
{
	struct sched_param none = {0};
	int out = open_output(output), nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t parent = getpid(), pid;
	volatile int problem = 0;

	enter_node(node);
	/* The child borrows this memory until it has become the program. */
	pid = vfork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
		sched_setscheduler(0, last ? SCHED_IDLE : SCHED_OTHER, &none);
		dup2(nothing, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		execvp(words[0], words);
		problem = errno;
		_exit(127);
	}
	if (pid < 0)
		problem = errno;
	leave_node();
	close(out);
	if (nothing >= 0)
		close(nothing);
	if (problem)
		die("starting", words[0], "it must be in the PATH", "%s", strerror(problem));
	return pid;
}

bool child_runs(pid_t pid)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid;
}

bool child_wait(pid_t pid, int *status)
{
	if (waitpid(pid, status, 0) == pid)
		return true;
	if (errno != EINTR)
		die("waiting for a program", "", "", "%s", strerror(errno));
	return false;
}

int child_socket(pid_t pid, bool (*wanted)(int fd, const void *subject), const void *subject)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), found = -1, without = 0;

	for (int theirs = 0; process >= 0 && found < 0 && without < FREE_AFTER_LAST; theirs++) {
		int type, fd = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
		socklen_t size = sizeof(type);

		/* Most numbers give EBADF, and a process that has just ended has no descriptors. */
		if (fd < 0 && errno != EBADF && errno != ESRCH)
			die("sharing a socket with a program", "",
			    "pidfd_getfd needs Linux 5.6 and root", "%s", strerror(errno));
		without = fd < 0 ? without + 1 : 0;
		if (fd < 0)
			continue;
		if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && wanted(fd, subject))
			found = fd;
		else
			close(fd);
	}
	if (process >= 0)
		close(process);
	return found;
}
