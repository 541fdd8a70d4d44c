/* One call of the sandbox kernel makes many; elsewhere they are made one after the other. */
#include "system/calls.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An operation of the sandbox kernel alone. */
#define MAKE_CALLS 0x4c480002

static void make(struct call *calls, struct call *one)
{
	long before = one->after < 0 ? 0 : calls[one->after].result;
	const long *with = one->arguments;

	if (before < 0) {
		one->result = before;
		return;
	}
	one->result = syscall(one->number, one->takes ? before : with[0], with[1], with[2], with[3],
			      with[4], with[5]);
	if (one->result < 0)
		one->result = -errno;
}

void calls_make(struct call *calls, size_t count)
{
	static bool is_lacking; /* any thread may find that out */
	const struct {
		struct call *calls;
		size_t count;
	} many = {calls, count};

	if (!is_lacking && !syscall(SYS_arch_prctl, MAKE_CALLS, &many))
		return;
	is_lacking = true;
	for (size_t i = 0; i < count; i++)
		make(calls, &calls[i]);
}
