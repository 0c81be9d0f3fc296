/* bench SECONDS: runs the compiled model of model.h on zeros for this time, at least eleven times, and prints the median
 * latency of a run in microseconds. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"

enum { MOST_RUNS = 100000, FEWEST_RUNS = 11 };

static double times[MOST_RUNS];

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *allocate(uint64_t bytes) {
  const size_t whole_blocks = ((size_t)bytes + 64) / 64 * 64;
  void *memory = aligned_alloc(64, whole_blocks);
  if (!memory) exit(2);
  return memset(memory, 0, whole_blocks);
}

/* An array of one zeroed buffer for each tensor. */
static void **allocate_tensors(const dlcc_tensor *tensors, int32_t count) {
  void **buffers = allocate((uint64_t)count * sizeof *buffers);
  for (int32_t t = 0; t < count; ++t) buffers[t] = allocate(tensors[t].bytes);
  return buffers;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  const dlcc_model *model = &model_model;
  void **inputs = allocate_tensors(model->inputs, model->input_count);
  void **outputs = allocate_tensors(model->outputs, model->output_count);
  void *arena = allocate(model->arena_bytes);
  const double end = seconds() + (argc == 2 ? atof(argv[1]) : 0.5);
  int runs = 0;
  while (runs < MOST_RUNS && (runs < FEWEST_RUNS || seconds() < end)) {
    const double start = seconds();
    const dlcc_status status = model->run((const void *const *)inputs, outputs, arena, model->arena_bytes, NULL);
    times[runs++] = seconds() - start;
    if (status != DLCC_OK) {
      fprintf(stderr, "the model returns status %d\n", (int)status);
      return 1;
    }
  }
  qsort(times, (size_t)runs, sizeof *times, compare);
  printf("%.3f\n", 1e6 * times[runs / 2]);
  return 0;
}
