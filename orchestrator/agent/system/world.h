/* The host's files as a program in the guest sees them. */
#ifndef LONGHAUL_WORLD_H
#define LONGHAUL_WORLD_H

#include <stdbool.h>
#include <stddef.h>

/* The host's files are mounted here first; the folder must be in the guest's root. */
#define WORLD "/host"
/* Where the run directory is in a world that has it. */
#define WORLD_SHARED "/run/longhaul"

struct world {
	const char *const *show; /* folders that must be seen although they lie where it is empty */
	size_t show_count;
	bool shared;	   /* it has the run directory */
	const char *hosts; /* the text of its /etc/hosts, NULL: the host's own */
};

/* Makes it the root of this process's mount namespace. */
void world_enter(const struct world *world);

#endif
