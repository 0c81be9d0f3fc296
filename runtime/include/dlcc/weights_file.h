/* The weights file of a model compiled with --weights external=FILE: a header, then the data. The header consists of
 * 64-bit words in the target's byte order: DLCC_WEIGHTS_MAGIC, the size of the whole file in bytes, the hash of the
 * data, zeros. The model compares the header with its own copy at every call; dlcc_check_weights also hashes the
 * data. */
#ifndef DLCC_WEIGHTS_FILE_H
#define DLCC_WEIGHTS_FILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLCC_WEIGHTS_MAGIC 0x3173747763636C64u /* "dlccwts1" */
#define DLCC_WEIGHTS_HEAD_BYTES 64

/* A 64-bit hash of `bytes` bytes, the same on every machine. It detects damage, not forgery. */
uint64_t dlcc_hash_weights(const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
