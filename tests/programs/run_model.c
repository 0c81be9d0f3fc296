/* Runs any float32 model on seeded inputs. `run_model > FILE` writes the outputs as bytes; `run_model FILE` compares the
 * outputs with such a file, of another machine, with a tolerance of 1e-4 of the largest value. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

static uint32_t state = 1;

/* Uniform in [-1, 1). */
static float next(void) {
  state ^= state << 13, state ^= state >> 17, state ^= state << 5;
  return (float)(state >> 8) / (1 << 23) - 1;
}

static void *allocate(uint64_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!memory) exit(2);
  return memory;
}

/* The first input is data. Others may be weights: their scale (He initialisation) preserves the variance of activations. */
static float *make_input(const dlcc_tensor *t, int is_data) {
  uint64_t i, count = t->bytes / sizeof(float), fan_in = t->rank > 1 ? count / (uint64_t)t->shape[0] : 100;
  float scale = is_data ? 1 : sqrtf(6 / (float)fan_in), *values = allocate(t->bytes);
  for (i = 0; i < count; ++i) values[i] = scale * next();
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
  const void **inputs = allocate((uint64_t)m->input_count * sizeof *inputs);
  void **outputs = allocate((uint64_t)m->output_count * sizeof *outputs);
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdout;
  int i, failed = 0;
  dlcc_status status;
  if (!file) return 2;
  for (i = 0; i < m->input_count; ++i) inputs[i] = make_input(&m->inputs[i], i == 0);
  for (i = 0; i < m->output_count; ++i) outputs[i] = allocate(m->outputs[i].bytes);
  status = m->run(inputs, outputs, allocate(m->arena_bytes), m->arena_bytes, NULL);
  if (status != DLCC_OK) return fprintf(stderr, "status %d\n", (int)status), 1;
  for (i = 0; i < m->output_count; ++i) {
    uint64_t bytes = m->outputs[i].bytes;
    float *expected = allocate(bytes);
    if (argc == 1) {
      failed |= fwrite(outputs[i], 1, bytes, file) != bytes;
    } else {
      failed |= fread(expected, 1, bytes, file) != bytes || compare(outputs[i], expected, bytes / sizeof(float));
    }
  }
  return failed;
}
