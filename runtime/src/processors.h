/* On which processors the threads of the pool run, where the system tells and lets itself be told; elsewhere nothing is
 * known and nothing happens. Processors are the system's numbers. */
#ifndef DLCC_PROCESSORS_H
#define DLCC_PROCESSORS_H

#include <pthread.h>
#include <stdint.h>

/* The processor that runs the calling thread, or -1. */
int dlcc_current_processor(void);

/* Remembers the processors that the calling thread may use: the others of its process keep to them. */
void dlcc_remember_processors(void);

/* From now on the thread runs on all remembered processors but this one, unless there is no other. */
void dlcc_keep_off_processor(pthread_t thread, int processor);

/* From now on the thread runs on this processor alone. 0 when that cannot be. */
int dlcc_bring_to_processor(pthread_t thread, int processor);

/* How long the thread has run so far, in nanoseconds; it stands still while the thread is off all processors. -1:
 * unknown. */
int64_t dlcc_running_time(pthread_t thread);

#endif
