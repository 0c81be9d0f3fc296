/* The file that holds the weights of a model compiled with --weights external=FILE: a head, then the data. The head is words
 * of 64 bits in the target's byte order: DLCC_WEIGHTS_MAGIC, the bytes of the whole file, the hash of the data, then zeros.
 * The model compares the head with what it was compiled with at every call; dlcc_check_weights hashes the data as well. */
#ifndef DLCC_WEIGHTS_FILE_H
#define DLCC_WEIGHTS_FILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLCC_WEIGHTS_MAGIC 0x3173747763636C64u /* "dlccwts1" */
#define DLCC_WEIGHTS_HEAD_BYTES 64

/* A 64-bit hash of bytes, eight at a time; the same on every machine. It finds damage, not forgery. */
uint64_t dlcc_hash_weights(const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
