/* The agent as PID 1 of a guest. */
#ifndef LONGHAUL_GUEST_H
#define LONGHAUL_GUEST_H

_Noreturn void guest_run(void);

#endif
