/* agent endpoint: a real host's side of a run. Commands come over standard input, answers go out as frames (frames.h). */
#ifndef LONGHAUL_ENDPOINT_H
#define LONGHAUL_ENDPOINT_H

_Noreturn void endpoint_run(void);

#endif
