/* agent endpoint: a real host's side of a run, spoken to over standard input and answering in frames (frames.h). */
#ifndef LONGHAUL_ENDPOINT_H
#define LONGHAUL_ENDPOINT_H

_Noreturn void endpoint_run(void);

#endif
