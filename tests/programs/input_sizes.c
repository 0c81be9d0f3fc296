/* Calls a model with sizes computed from elements of its inputs (input_sizes.rly, prefix net): P_plan reads the elements
 * and gives the exact sizes. Invalid sizes return a status, and nothing is written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlcc/dlcc.h"
#include "net.h"

static int errors = 0;

static void expect(const char *what, int64_t found, int64_t expected) {
  if (found == expected) return;
  printf("%s: %" PRId64 " instead of %" PRId64 "\n", what, found, expected);
  ++errors;
}

enum { most = 4096, canary = 0x5A };

static float x[most], rows[most], copies[most];
static _Alignas(NET_ARENA_ALIGN) unsigned char arena[1 << 16];

static int is_untouched(const void *memory, size_t from, size_t to) {
  const unsigned char *bytes = memory;
  for (size_t k = from; k < to; ++k)
    if (bytes[k] != canary) return 0;
  return 1;
}

static void clear(void) {
  memset(rows, canary, sizeof rows);
  memset(copies, canary, sizeof copies);
  memset(arena, canary, sizeof arena);
}

static void run_at(int64_t n, int64_t a, int64_t b, int64_t reps, int64_t expected_a, int64_t expected_b) {
  const int64_t shape[2] = {a, b};
  const net_dims dims = {n};
  for (int64_t k = 0; k < n * 4; ++k) x[k] = (float)(k % 13) - 4;
  net_shapes room, shapes;
  uint64_t bytes = 0;
  /* P_plan reads only the inputs on which sizes depend. */
  expect("plan", net_plan(&(net_inputs){NULL, shape, &reps, &dims}, &room, &bytes), DLCC_OK);
  expect("rows", room.rows[0], expected_a);
  expect("columns", room.rows[1], expected_b);
  expect("copies", room.copies[0], reps * 4);
  clear();
  const net_inputs inputs = {x, shape, &reps, &dims};
  expect("run", net_run(&inputs, &(net_outputs){rows, copies, &shapes}, arena, (size_t)bytes), DLCC_OK);
  expect("shapes", memcmp(&shapes, &room, sizeof room), 0);
  float sums[4] = {0};
  for (int64_t k = 0; k < n * 4; ++k) {
    expect("element", (int64_t)rows[k], (int64_t)(x[k] > 0 ? x[k] : 0));
    sums[k % 4] += x[k];
  }
  for (int64_t k = 0; k < reps * 4; ++k) expect("copy", (int64_t)copies[k], (int64_t)sums[k % 4]);
  expect("after the rows", is_untouched(rows, sizeof(float) * (size_t)(n * 4), sizeof rows), 1);
  expect("after the copies", is_untouched(copies, sizeof(float) * (size_t)(reps * 4), sizeof copies), 1);
  expect("after the arena", is_untouched(arena, (size_t)bytes, sizeof arena), 1);
}

static void refuse(int64_t a, int64_t b, int64_t reps, int status) {
  const int64_t shape[2] = {a, b};
  const net_dims dims = {3};
  const net_inputs inputs = {x, shape, &reps, &dims};
  net_shapes room, shapes;
  uint64_t bytes = canary;
  memset(&room, canary, sizeof room);
  memset(&shapes, canary, sizeof shapes);
  clear();
  expect("status of the plan", net_plan(&inputs, &room, &bytes), status);
  expect("room", is_untouched(&room, 0, sizeof room), 1);
  expect("bytes", (int64_t)bytes, canary);
  const net_outputs outputs = {rows, copies, &shapes};
  expect("status of the run", net_run(&inputs, &outputs, arena, sizeof arena), status);
  expect("rows", is_untouched(rows, 0, sizeof rows), 1);
  expect("copies", is_untouched(copies, 0, sizeof copies), 1);
  expect("arena", is_untouched(arena, 0, sizeof arena), 1);
  expect("shapes", is_untouched(&shapes, 0, sizeof shapes), 1);
}

int main(void) {
  run_at(3, 2, 6, 2, 2, 6);
  run_at(3, -1, 6, 1, 2, 6);
  run_at(3, 0, -1, 0, 3, 4);
  run_at(7, 28, 1, 5, 28, 1);
  run_at(100, -1, 4, 17, 100, 4);
  const int64_t huge[] = {INT64_MIN, -(INT64_C(1) << 62), -2, INT64_C(1) << 40, INT64_C(1) << 62, INT64_MAX};
  for (size_t k = 0; k < sizeof huge / sizeof huge[0]; ++k) {
    refuse(huge[k], 4, 1, DLCC_DIMENSION_OUT_OF_RANGE);
    refuse(3, 4, huge[k], DLCC_DIMENSION_OUT_OF_RANGE);
  }
  int64_t shape[2] = {5, 5};
  const int64_t reps = 1;
  const net_dims dims = {3};
  uint64_t bytes;
  clear(); /* another number of elements: the operator refuses it */
  expect("mismatch",
         net_run(&(net_inputs){x, shape, &reps, &dims}, &(net_outputs){rows, copies, NULL}, arena, sizeof arena),
         DLCC_SHAPE_MISMATCH);
  expect("after refused rows", is_untouched(rows, sizeof(float) * 25, sizeof rows), 1);
  shape[0] = 3, shape[1] = 4;
  expect("no shape", net_plan(&(net_inputs){x, NULL, &reps, &dims}, NULL, &bytes), DLCC_NULL_ARGUMENT);
  expect("no repetitions", net_plan(&(net_inputs){x, shape, NULL, &dims}, NULL, &bytes), DLCC_NULL_ARGUMENT);
  const char bytes_of_reps[16] __attribute__((aligned(8))) = {0};
  const int64_t* odd = (const int64_t*)(const void*)(bytes_of_reps + 1);
  expect("misaligned repetitions", net_plan(&(net_inputs){x, shape, odd, &dims}, NULL, &bytes), DLCC_ARENA_MISALIGNED);
  clear();
  expect("run without a shape",
         net_run(&(net_inputs){x, NULL, &reps, &dims}, &(net_outputs){rows, copies, NULL}, arena, sizeof arena),
         DLCC_NULL_ARGUMENT);
  expect("untouched", is_untouched(rows, 0, sizeof rows), 1);
  return errors != 0;
}
