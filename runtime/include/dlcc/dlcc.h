/* The runtime library libdlcc_rt.a: queries about compiled models, and the thread pool of models compiled with
 * --threads=N. Only models with several threads need the library. Except for the thread pool, it allocates no memory,
 * has no state and does not call the C library. Pointer arguments must not be null unless stated otherwise. */
#ifndef DLCC_DLCC_H
#define DLCC_DLCC_H

#include "dlcc/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The meaning of a status, in English. Never null; the text is static. */
const char *dlcc_status_string(dlcc_status status);

/* The position of the input or output with this name (the model's name for it), or -1. */
int32_t dlcc_find_input(const dlcc_model *model, const char *name);
int32_t dlcc_find_output(const dlcc_model *model, const char *name);

/* The position of the size with this name (the model's name for it) among those that the caller gives, or -1. */
int32_t dlcc_find_dim(const dlcc_model *model, const char *name);

/* The number of elements of a tensor; 1 for a scalar, -1 if an axis is not a constant. */
int64_t dlcc_element_count(const dlcc_tensor *tensor);

/* Checks the contents of a weights file, `bytes` bytes at `weights`, against the model: size, header and the hash of
 * the data. Call it once after loading the file: a model's run function checks only size and header. Returns DLCC_OK,
 * DLCC_WEIGHTS_MISSING if `weights` is null, DLCC_ARENA_MISALIGNED or DLCC_WEIGHTS_MISMATCH; always DLCC_OK for a model
 * without a weights file. */
dlcc_status dlcc_check_weights(const dlcc_model *model, const void *weights, size_t bytes);

/* The executor that models compiled with --threads=N use if their context has none: a thread pool that all models of
 * the process share. The call starts threads until there are enough for `threads` concurrent tasks, the caller's thread
 * included. Never null: if threads cannot be started, the caller does their work. If a model is run while the pool is
 * busy, by another thread or within a task, it runs on the caller's thread alone. Idle threads spin for some hundred
 * microseconds and then sleep. On Linux they change their affinity masks, within the mask of the thread that started
 * the pool. */
const dlcc_executor *dlcc_default_executor(int32_t threads);

/* Waits for the pool's current job and ends the pool's threads; the next use starts them again. Also called when the
 * process exits, and when a shared library that contains the pool is closed. Must not be called from a task. */
void dlcc_stop_threads(void);

#ifdef __cplusplus
}
#endif
#endif
