/* Settings under /proc/sys, of a node and of the whole guest. */
#ifndef LONGHAUL_SYSCTL_H
#define LONGHAUL_SYSCTL_H

#include "plan/plan.h"

/* Whether the guest's log has all but debugging messages of its kernel and modules, or warnings alone. */
void sysctl_of_log(const struct plan *plan, bool all);
/* The plan's settings of the whole guest, and those that every experiment needs. */
void sysctls_of_guest(const struct plan *plan);
/* The machine's own value of a setting, left as it is; NULL if there is no such setting. The caller frees it. */
char *sysctl_of_machine(const char *name);
/* The plan's settings of each node, and IPv6 off; all read back. */
void sysctls_of_nodes(struct plan *plan);

#endif
