/* The agent on a net that another program has built. */
#ifndef LONGHAUL_ATTACH_H
#define LONGHAUL_ATTACH_H

/* attach DIR MARK NODE=PID...: runs what lies in DIR, in the namespaces of these processes. */
_Noreturn void attach_run(int count, char **arguments);
/* settle DIR MARK NODE=PID...: sets that net up as the plan asks and ends; no flows. */
_Noreturn void attach_settle(int count, char **arguments);

#endif
