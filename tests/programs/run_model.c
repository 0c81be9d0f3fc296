/* run_model INPUT EXPECTED: runs a float32 model with one input and one output on the bytes of the file INPUT and compares
 * the output with those of the file EXPECTED, to 1e-4 of the largest expected value. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

static void *allocate(uint64_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!memory) exit(2);
  return memory;
}

static float *read_floats(const char *path, uint64_t bytes) {
  FILE *file = fopen(path, "rb");
  float *values = allocate(bytes);
  if (!file || fread(values, 1, bytes, file) != bytes) {
    fprintf(stderr, "%s does not have %llu bytes\n", path, (unsigned long long)bytes);
    exit(2);
  }
  fclose(file);
  return values;
}

static int compare(const float *got, const float *expected, uint64_t count) {
  double largest = 0, error = 0;
  uint64_t i;
  for (i = 0; i < count; ++i) {
    largest = fmax(largest, fabs(expected[i]));
    if (!(fabs((double)got[i] - expected[i]) <= error)) error = fabs((double)got[i] - expected[i]);
  }
  printf("%llu values, largest error %g of %g\n", (unsigned long long)count, error, largest);
  return error <= 1e-4 * largest ? 0 : 1;
}

int main(int argc, char **argv) {
  const dlcc_model *m = &model_model;
  const void *input;
  void *output;
  dlcc_status status;
  if (argc != 3 || m->input_count != 1 || m->output_count != 1) return 2;
  input = read_floats(argv[1], m->inputs[0].bytes);
  output = allocate(m->outputs[0].bytes);
  status = m->run(&input, &output, allocate(m->arena_bytes), m->arena_bytes, NULL);
  if (status != DLCC_OK) return fprintf(stderr, "status %d\n", (int)status), 1;
  return compare(output, read_floats(argv[2], m->outputs[0].bytes), m->outputs[0].bytes / sizeof(float));
}
