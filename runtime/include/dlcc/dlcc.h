/* The runtime library libdlcc_rt.a: what programs may want to ask beside running a model. Nothing here allocates, keeps state
 * or calls the C library, and a model runs without it. */
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

#ifdef __cplusplus
}
#endif
#endif
