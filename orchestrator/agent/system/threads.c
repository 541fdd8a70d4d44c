/* There may be hundreds of threads: each has a small stack, and nothing waits for its end. */
#include "system/threads.h"

#include <pthread.h>
#include <string.h>

#include "system/fatal.h"

#define STACK_BYTES (64 * 1024) /* none keeps more than a page or two */

void thread_start(void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int problem;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	problem = pthread_create(&thread, &attributes, run, argument);
	if (problem)
		die("starting a thread", "", "raise memory_mb", "%s", strerror(problem));
	pthread_attr_destroy(&attributes);
}
