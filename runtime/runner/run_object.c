/* run_object INPUTS RESULTS [CALLS]: runs a model once, and then CALLS times more for their times. The linker gives
 * the constant P_model of the model its second name, model_to_run: --defsym=model_to_run=P_model. The file
 * INPUTS has the bytes of each input, the sizes that its caller gives if the model has symbolic sizes, and the contents
 * of the weights file if it has one, each after its number of bytes. The file RESULTS gets the status and, if that is
 * 0, the axes of all outputs if the model has symbolic sizes, the bytes of each output after their number, and the
 * seconds of each further call as a double. Numbers are int64. Every block of memory ends at an inaccessible page; the
 * inputs and the weights cannot be written. Exit statuses other than 0: 2 for wrong arguments, 3 without memory, 4 and 5
 * if a file cannot be read or written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "dlcc/types.h"

enum { most_tensors = 1024, most_axes = 16384 };

extern const dlcc_model model_to_run;

/* `bytes` bytes in front of an inaccessible page; they begin at a multiple of `alignment`. */
static unsigned char *allocate(uint64_t bytes, uint64_t alignment) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page + page;
  unsigned char *memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + size, page, PROT_NONE) != 0) exit(3);
  memset(memory, 0xFF, size);
  return memory + (size - bytes) / alignment * alignment;
}

static int64_t read_number(FILE *file) {
  int64_t number;
  if (fread(&number, sizeof number, 1, file) != 1) exit(4);
  return number;
}

static void protect(unsigned char *block, uint64_t bytes) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), offset = (uintptr_t)block % page;
  if (bytes != 0 && mprotect(block - offset, offset + bytes, PROT_READ) != 0) exit(3);
}

/* The next `bytes` bytes of the file, at a multiple of `alignment`. */
static const void *read_aligned_block(FILE *file, uint64_t bytes, uint64_t alignment) {
  unsigned char *block = allocate(bytes, alignment);
  if (fread(block, 1, bytes, file) != bytes) exit(4);
  protect(block, bytes);
  return block;
}

/* A number of bytes, and as many bytes. They end at an inaccessible page if they are aligned as elements there. */
static const void *read_block(FILE *file) {
  const uint64_t bytes = (uint64_t)read_number(file);
  return read_aligned_block(file, bytes, bytes % 8 ? bytes % 4 ? bytes % 2 ? 1 : 2 : 4 : 8);
}

/* Of an element of an ONNX type. */
static uint64_t bits_of(int32_t type) {
  switch (type) {
    case 7: case 11: case 13: return 64;          /* int64, double, uint64 */
    case 1: case 6: case 12: return 32;           /* float, int32, uint32 */
    case 4: case 5: case 10: case 16: return 16;  /* uint16, int16, float16, bfloat16 */
    case 21: case 22: case 23: return 4;          /* uint4, int4, float4e2m1 */
    case 25: case 26: return 2;                   /* uint2, int2 */
    default: return 8;
  }
}

static uint64_t bytes_of(const dlcc_tensor *tensor, const int64_t *axes) {
  uint64_t count = 1;
  for (int32_t k = 0; k < tensor->rank; ++k) count *= (uint64_t)axes[k];
  return (count * bits_of(tensor->dtype_number) + 7) / 8;
}

static void write_all(FILE *file, const void *data, uint64_t bytes) {
  if (fwrite(data, 1, bytes, file) != bytes) exit(5);
}

static void finish(FILE *file, int64_t status) {
  write_all(file, &status, sizeof status);
  if (status != DLCC_OK) exit(fclose(file) == 0 ? 0 : 5);
}

/* The number of all axes of all outputs. */
static int32_t count_axes(const dlcc_model *m) {
  int32_t count = 0;
  for (int32_t k = 0; k < m->output_count; ++k) count += m->outputs[k].rank;
  return count;
}

/* The shapes of the outputs as the model's description has them. */
static void copy_shapes(const dlcc_model *m, int64_t *axes) {
  for (int32_t k = 0; k < m->output_count; axes += m->outputs[k++].rank)
    memcpy(axes, m->outputs[k].shape, (size_t)m->outputs[k].rank * sizeof *axes);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  const dlcc_model *m = &model_to_run;
  static int64_t axes[most_axes];
  const void *inputs[most_tensors];
  void *outputs[most_tensors];
  const int64_t *next = axes;
  uint64_t arena_bytes = m->arena_bytes;
  const int is_called = argc == 3 || argc == 4, calls = argc == 4 ? atoi(argv[3]) : 0;
  FILE *in = is_called ? fopen(argv[1], "rb") : NULL, *out = is_called ? fopen(argv[2], "wb") : NULL;
  if (!in || !out || m->input_count >= most_tensors || m->output_count >= most_tensors) return 2;
  if (count_axes(m) > most_axes) return 2;
  for (int32_t k = 0; k < m->input_count + (m->plan ? 1 : 0); ++k) inputs[k] = read_block(in);
  dlcc_context context = {0};
  if (m->weights_file_bytes) {
    context.weights_bytes = (size_t)read_number(in);
    context.weights = read_aligned_block(in, context.weights_bytes, m->weights_file_alignment);
  }
  copy_shapes(m, axes);
  if (m->plan) {
    const dlcc_status status = m->plan(inputs, axes, &arena_bytes);
    if (status != DLCC_OK) finish(out, status);
  }
  for (int32_t k = 0; k < m->output_count; next += m->outputs[k++].rank) {
    const uint64_t bytes = bytes_of(&m->outputs[k], next), element = bits_of(m->outputs[k].dtype_number) / 8;
    outputs[k] = allocate(bytes, element ? element : 1);
  }
  outputs[m->output_count] = axes;
  void *arena = allocate(arena_bytes, m->arena_alignment);
  finish(out, m->run(inputs, outputs, arena, arena_bytes, &context));
  if (m->plan) write_all(out, axes, (uint64_t)count_axes(m) * sizeof *axes);
  next = axes;
  for (int32_t k = 0; k < m->output_count; next += m->outputs[k++].rank) {
    const uint64_t bytes = bytes_of(&m->outputs[k], next);
    write_all(out, &bytes, sizeof bytes);
    write_all(out, outputs[k], bytes);
  }
  for (int k = 0; k < calls; ++k) {
    const double begin = seconds_now();
    m->run(inputs, outputs, arena, arena_bytes, &context);
    const double seconds = seconds_now() - begin;
    write_all(out, &seconds, sizeof seconds);
  }
  return fclose(out) == 0 ? 0 : 5;
}
