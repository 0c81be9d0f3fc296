/* The processor affinity of the pool's threads, on Linux. On other systems nothing is known, and requests have no
 * effect. Processors have the system's numbers. */
#ifndef DLCC_PROCESSORS_H
#define DLCC_PROCESSORS_H

#include <pthread.h>
#include <stdint.h>

/* The processor that runs the calling thread; -1: unknown. */
int dlcc_current_processor(void);

/* Stores the calling thread's affinity mask, which bounds those of the pool's threads. */
void dlcc_remember_processors(void);

/* Sets the thread's affinity mask to all stored processors but this one, unless there is no other. */
void dlcc_keep_off_processor(pthread_t thread, int processor);

/* Sets the thread's affinity mask to this processor alone. Returns 0 on failure. */
int dlcc_bring_to_processor(pthread_t thread, int processor);

/* The thread's CPU time in nanoseconds; -1: unknown. */
int64_t dlcc_running_time(pthread_t thread);

#endif
