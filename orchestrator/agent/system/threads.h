/* Threads that run until the process ends. */
#ifndef LONGHAUL_THREADS_H
#define LONGHAUL_THREADS_H

void thread_start(void *(*run)(void *), void *argument);

#endif
