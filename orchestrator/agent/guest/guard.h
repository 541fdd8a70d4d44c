/* The agent as launcher of a guest on the host: `longhaul-agent guard ...`. */
#ifndef LONGHAUL_GUARD_H
#define LONGHAUL_GUARD_H

int guard_run(int count, char **arguments);

#endif
