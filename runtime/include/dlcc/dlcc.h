/* The runtime library libdlcc_rt.a: queries about compiled models, and the thread pool of models compiled with
 * --threads=N. Only these models need the library. All but the thread pool neither allocates memory nor has state nor
 * calls the C library. */
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

/* The position of the size with this name (the model's name for it) among those that the caller gives, or -1. */
int32_t dlcc_find_dim(const dlcc_model *model, const char *name);

/* Number of elements of a tensor; 1 for a scalar, -1 if an axis is not a constant. */
int64_t dlcc_element_count(const dlcc_tensor *tensor);

/* Checks the contents of a weights file against the model: size, header and the hash of the data. Call it once after
 * loading the file: a model's run function checks only size and header. DLCC_OK for a model without a weights file. */
dlcc_status dlcc_check_weights(const dlcc_model *model, const void *weights, size_t bytes);

/* The executor that models compiled with --threads=N use if their context has none: a thread pool that all models of
 * the process share. The call starts the threads that are missing. Never null: if threads cannot be started, the caller
 * does their work. A model that runs while the pool is busy, on another thread or within a task, runs on its caller's
 * thread alone. Idle threads spin for some hundred microseconds and then sleep. On Linux they change their affinity
 * masks, within the mask of the thread that started the pool. */
const dlcc_executor *dlcc_default_executor(int32_t threads);

/* Waits for the pool's job and ends its threads; the next use starts them again. Called when the process exits, too,
 * and when a shared library that contains the pool is closed. Must not be called from a task. */
void dlcc_stop_threads(void);

#ifdef __cplusplus
}
#endif
#endif
