/* The processor affinity of the pool's threads, on Linux. On other systems queries return -1, and changes have no
 * effect. Processors are numbered as by the system. */
#ifndef DLCC_PROCESSORS_H
#define DLCC_PROCESSORS_H

#include <pthread.h>
#include <stdint.h>

/* The processor that runs the calling thread; -1: unknown. */
int dlcc_current_processor(void);

/* Saves the calling thread's affinity mask, which limits the masks that the functions below set. */
void dlcc_save_affinity_mask(void);

/* Sets the thread's affinity mask to the saved mask without this processor; no effect if that is empty. */
void dlcc_exclude_processor(pthread_t thread, int processor);

/* Sets the thread's affinity mask to this processor alone. Returns 1, or 0 on failure. */
int dlcc_pin_to_processor(pthread_t thread, int processor);

/* The thread's CPU time in nanoseconds; -1: unknown. */
int64_t dlcc_thread_cpu_time(pthread_t thread);

#endif
