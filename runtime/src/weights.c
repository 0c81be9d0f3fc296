/* Checks the weights file of a model compiled with --weights external=FILE. */
#include "dlcc/dlcc.h"
#include "dlcc/weights_file.h"

/* `bytes` bytes, at most eight, as a little-endian number. */
static uint64_t word(const unsigned char *at, size_t bytes) {
  uint64_t result = 0;
  size_t i;
  for (i = 0; i < bytes; ++i) result |= (uint64_t)at[i] << (8 * i);
  return result;
}

static uint64_t mix(uint64_t hash, uint64_t next) {
  hash = (hash ^ next) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

uint64_t dlcc_hash_weights(const void *data, size_t bytes) {
  const unsigned char *at = (const unsigned char *)data;
  uint64_t hash = mix(0xCBF29CE484222325u, bytes);
  for (; bytes >= 8; at += 8, bytes -= 8) hash = mix(hash, word(at, 8));
  return mix(hash, word(at, bytes));
}

dlcc_status dlcc_check_weights(const dlcc_model *model, const void *weights, size_t bytes) {
  const unsigned char *file = (const unsigned char *)weights;
  const uint64_t *head = (const uint64_t *)weights;
  if (model->weights_file_bytes == 0) return DLCC_OK;
  if (!weights) return DLCC_WEIGHTS_MISSING;
  if ((uintptr_t)weights & (model->weights_file_alignment - 1)) return DLCC_ARENA_MISALIGNED; /* a power of two */
  if (bytes < model->weights_file_bytes || head[0] != DLCC_WEIGHTS_MAGIC || head[1] != model->weights_file_bytes ||
      head[2] != model->weights_file_hash)
    return DLCC_WEIGHTS_MISMATCH;
  return dlcc_hash_weights(file + DLCC_WEIGHTS_HEAD_BYTES,
                           (size_t)model->weights_file_bytes - DLCC_WEIGHTS_HEAD_BYTES) == model->weights_file_hash
             ? DLCC_OK
             : DLCC_WEIGHTS_MISMATCH;
}
