// A model with a weights file computes the results of the same model with its weights in the object, and rejects other
// files.   external_weights FILE OTHER_FILE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bare.h"
#include "dlcc/dlcc.h"
#include "whole.h"

enum { pixels = 28 * 28, classes = 10 };

static _Alignas(64) unsigned char arena[BARE_ARENA_BYTES > WHOLE_ARENA_BYTES ? BARE_ARENA_BYTES : WHOLE_ARENA_BYTES];
static _Alignas(BARE_WEIGHTS_FILE_ALIGN) unsigned char copy[BARE_WEIGHTS_FILE_BYTES + 64];
static float image[pixels], expected[classes], got[classes];
static const bare_inputs inputs = {image};
static const bare_outputs outputs = {got};

static int failures;

static void expect(dlcc_status status, dlcc_status wanted, const char *what) {
  if (status == wanted) return;
  printf("%s: '%s' instead of '%s'\n", what, dlcc_status_string(status), dlcc_status_string(wanted));
  ++failures;
}

static dlcc_status run(const void *weights, size_t bytes) {
  dlcc_context context;
  memset(&context, 0, sizeof context);
  context.weights = weights;
  context.weights_bytes = bytes;
  return bare_run_ctx(&inputs, &outputs, arena, sizeof arena, &context);
}

// Null if the file cannot be mapped.
static const void *map(const char *path, size_t *bytes) {
  int file = open(path, O_RDONLY);
  off_t end = file < 0 ? -1 : lseek(file, 0, SEEK_END);
  void *memory = end <= 0 ? MAP_FAILED : mmap(NULL, (size_t)end, PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) close(file);
  *bytes = end <= 0 ? 0 : (size_t)end;
  return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv) {
  size_t bytes, other_bytes;
  const void *weights = argc == 3 ? map(argv[1], &bytes) : NULL, *other = argc == 3 ? map(argv[2], &other_bytes) : NULL;
  const whole_inputs whole_in = {image};
  const whole_outputs whole_out = {expected};
  int i;
  if (!weights || !other) return fprintf(stderr, "external_weights FILE OTHER_FILE\n"), 2;
  for (i = 0; i < pixels; ++i) image[i] = (float)(i % 29) / 28;

  expect(whole_run(&whole_in, &whole_out, arena, sizeof arena), DLCC_OK, "weights in the object");
  expect(dlcc_check_weights(&whole_model, NULL, 0), DLCC_OK, "a check of a model without weights file");
  expect(dlcc_check_weights(&bare_model, weights, bytes), DLCC_OK, "a check of the file");
  expect(run(weights, bytes), DLCC_OK, "weights in the file");
  if (memcmp(got, expected, sizeof got) != 0) ++failures, printf("the results differ\n");

  expect(bare_run(&inputs, &outputs, arena, sizeof arena), DLCC_WEIGHTS_MISSING, "no context");
  expect(run(NULL, 0), DLCC_WEIGHTS_MISSING, "no weights");
  expect(dlcc_check_weights(&bare_model, NULL, 0), DLCC_WEIGHTS_MISSING, "a check of no weights");
  expect(run(weights, BARE_WEIGHTS_FILE_BYTES - 1), DLCC_WEIGHTS_MISMATCH, "a file that is too small");
  expect(dlcc_check_weights(&bare_model, weights, 10), DLCC_WEIGHTS_MISMATCH, "a check of a file that is too small");
  expect(run(other, other_bytes), DLCC_WEIGHTS_MISMATCH, "another model's weights");
  expect(dlcc_check_weights(&bare_model, other, other_bytes), DLCC_WEIGHTS_MISMATCH, "a check of another model's weights");

  memcpy(copy, weights, BARE_WEIGHTS_FILE_BYTES);
  expect(run(copy, sizeof copy), DLCC_OK, "memory that is larger than the file");
  expect(dlcc_check_weights(&bare_model, copy, sizeof copy), DLCC_OK, "a check of larger memory");
  copy[16] ^= 1;
  expect(run(copy, BARE_WEIGHTS_FILE_BYTES), DLCC_WEIGHTS_MISMATCH, "another hash in the header");
  copy[16] ^= 1;
  copy[BARE_WEIGHTS_FILE_BYTES - 1] ^= 1;
  expect(dlcc_check_weights(&bare_model, copy, BARE_WEIGHTS_FILE_BYTES), DLCC_WEIGHTS_MISMATCH, "damaged data");
  memmove(copy + 8, weights, BARE_WEIGHTS_FILE_BYTES);
  expect(run(copy + 8, BARE_WEIGHTS_FILE_BYTES), DLCC_ARENA_MISALIGNED, "misaligned weights");
  expect(dlcc_check_weights(&bare_model, copy + 8, BARE_WEIGHTS_FILE_BYTES), DLCC_ARENA_MISALIGNED,
         "a check of misaligned weights");
  return failures != 0;
}
