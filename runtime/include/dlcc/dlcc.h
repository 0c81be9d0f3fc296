/* The runtime library libdlcc_rt.a: what programs may want to ask beside running a model, and the threads of models that
 * were compiled for several. But for these, nothing here allocates, keeps state or calls the C library, and a model runs
 * without it. */
#ifndef DLCC_DLCC_H
#define DLCC_DLCC_H

#include "dlcc/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The meaning of a status, in English; never null. */
const char *dlcc_status_string(dlcc_status status);

/* The position of the input or output with this name (the model's name for it), or -1. */
int32_t dlcc_find_input(const dlcc_model *model, const char *name);
int32_t dlcc_find_output(const dlcc_model *model, const char *name);

/* Number of elements of a tensor; 1 for a scalar. */
int64_t dlcc_element_count(const dlcc_tensor *tensor);

/* Whether these are the weights that a model compiled without them needs: their size, their head and the hash of all of
 * them. A model's run function looks only at size and head, so this belongs behind the loading of a file. DLCC_OK for a
 * model that has its weights. */
dlcc_status dlcc_check_weights(const dlcc_model *model, const void *weights, size_t bytes);

/* The executor that models compiled with --threads=N use when their context has none: a pool of threads that all models
 * of the process share, started and enlarged when it is asked for more than it has. Never null: a pool that cannot have
 * its threads has the caller do their work. A model run while the pool is at work, on another thread or inside of a task,
 * runs on its caller's thread alone. Idle threads spin for some hundred microseconds and then sleep. On Linux they have
 * affinity masks of their own, within that of the thread that started the pool. */
const dlcc_executor *dlcc_default_executor(int32_t threads);

/* Ends the pool's threads when their work is done; the next use starts them again. Called at the end of the process too,
 * and when a shared library that contains the pool is closed. Not to be called from a task. */
void dlcc_stop_threads(void);

#ifdef __cplusplus
}
#endif
#endif
