/* run_object INPUTS RESULTS [CALLS]: runs a model once, and then CALLS times more for their times. The linker gives
 * the constant P_model of the model its second name, model_to_run: --defsym=model_to_run=P_model. The file
 * INPUTS has the bytes of each input, the sizes that its caller gives if the model has symbolic sizes, and the contents
 * of the weights file if it has one, each after its number of bytes. The file RESULTS gets the status and, if that is
 * 0, the axes of all outputs if the model has symbolic sizes, the bytes of each output after their number, and the
 * seconds of each further call as a double. Numbers are int64. platform.h lists the exit statuses other than 0; linux.c
 * and board.c have the main program and what this file calls. */
#include <stddef.h>

#include "dlcc/types.h"
#include "platform.h"

enum { most_tensors = 1024, most_axes = 16384 };

extern const dlcc_model model_to_run;

static int64_t read_number(void) {
  int64_t number;
  read_bytes(&number, sizeof number);
  return number;
}

/* The next `bytes` bytes of the inputs, at a multiple of `alignment`. */
static const void *read_aligned_block(uint64_t bytes, uint64_t alignment) {
  void *block = allocate(bytes, alignment);
  read_bytes(block, bytes);
  protect(block, bytes);
  return block;
}

/* A number of bytes, and as many bytes. They end at the end of their memory if they are aligned as elements there. */
static const void *read_block(void) {
  const uint64_t bytes = (uint64_t)read_number();
  return read_aligned_block(bytes, bytes % 8 ? bytes % 4 ? bytes % 2 ? 1 : 2 : 4 : 8);
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

/* Writes the status; one other than 0 is all that the results have. */
static void write_status(int64_t status) {
  write_bytes(&status, sizeof status);
  if (status == DLCC_OK) return;
  close_files();
  leave(0);
}

/* The number of all axes of all outputs. */
static int32_t count_axes(const dlcc_model *m) {
  int32_t count = 0;
  for (int32_t k = 0; k < m->output_count; ++k) count += m->outputs[k].rank;
  return count;
}

/* The shapes of the outputs as the model's description has them. */
static void copy_shapes(const dlcc_model *m, int64_t *axes) {
  for (int32_t k = 0; k < m->output_count; ++k)
    for (int32_t axis = 0; axis < m->outputs[k].rank; ++axis) *axes++ = m->outputs[k].shape[axis];
}

/* A number in decimal digits; 0 without digits. */
static int number_of(const char *text) {
  int number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + (*text - '0');
  return number;
}

int run_object(int argc, char **argv) {
  const dlcc_model *m = &model_to_run;
  static int64_t axes[most_axes];
  static const void *inputs[most_tensors];
  static void *outputs[most_tensors];
  const int64_t *next = axes;
  uint64_t arena_bytes = m->arena_bytes;
  const int calls = argc == 4 ? number_of(argv[3]) : 0;
  if (argc != 3 && argc != 4) return exit_arguments;
  if (m->input_count >= most_tensors || m->output_count >= most_tensors) return exit_arguments;
  if (count_axes(m) > most_axes) return exit_arguments;
  open_files(argv[1], argv[2]);
  for (int32_t k = 0; k < m->input_count + (m->plan ? 1 : 0); ++k) inputs[k] = read_block();
  dlcc_context context = {0};
  if (m->weights_file_bytes) {
    context.weights_bytes = (size_t)read_number();
    context.weights = read_aligned_block(context.weights_bytes, m->weights_file_alignment);
  }
  copy_shapes(m, axes);
  if (m->plan) {
    const dlcc_status status = m->plan(inputs, axes, &arena_bytes);
    if (status != DLCC_OK) write_status(status);
  }
  for (int32_t k = 0; k < m->output_count; next += m->outputs[k++].rank) {
    const uint64_t bytes = bytes_of(&m->outputs[k], next), element = bits_of(m->outputs[k].dtype_number) / 8;
    outputs[k] = allocate(bytes, element ? element : 1);
  }
  outputs[m->output_count] = axes;
  void *arena = allocate(arena_bytes, m->arena_alignment);
  const dlcc_status status = m->run(inputs, outputs, arena, (size_t)arena_bytes, &context);
  check_memory();
  write_status(status);
  if (m->plan) write_bytes(axes, (uint64_t)count_axes(m) * sizeof *axes);
  next = axes;
  for (int32_t k = 0; k < m->output_count; next += m->outputs[k++].rank) {
    const uint64_t bytes = bytes_of(&m->outputs[k], next);
    write_bytes(&bytes, sizeof bytes);
    write_bytes(outputs[k], bytes);
  }
  for (int k = 0; k < calls; ++k) {
    const double begin = seconds_now();
    m->run(inputs, outputs, arena, (size_t)arena_bytes, &context);
    const double seconds = seconds_now() - begin;
    write_bytes(&seconds, sizeof seconds);
  }
  close_files();
  return 0;
}
