/* The agent on a net that somebody else has built. */
#ifndef LONGHAUL_ATTACH_H
#define LONGHAUL_ATTACH_H

/* attach DIR MARK NODE=PID...: carries out the run of DIR in the namespaces of these processes. */
_Noreturn void attach_run(int count, char **arguments);
/* settle DIR MARK NODE=PID...: sets that net up as the plan asks and lets go of it; no flows. */
_Noreturn void attach_settle(int count, char **arguments);

#endif
