/* Calls a model with symbolic sizes (symbolic_sizes.rly, prefix net): P_plan and P_run at many sizes, with results that
 * the program computes itself, then each invalid size in place of a valid one. A refused call must write nothing. */
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

enum { canary = 0x5A, rows = 64, columns = 40 };

static float x[rows * 16], w[columns * 16], y[rows * rows + 1], z[rows * 16 + 1];

static int is_untouched(const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t k = 0; k < bytes; ++k)
    if (p[k] != canary) return 0;
  return 1;
}

/* y = t t^T with t = x w^T, z = max(x, 0). */
static void run_at(int64_t n, int64_t m) {
  const net_dims dims = {n, m};
  const net_inputs inputs = {x, w, &dims};
  net_shapes room, shapes;
  uint64_t bytes = 0;
  expect("plan", net_plan(&(net_inputs){NULL, NULL, &dims}, &room, &bytes), DLCC_OK);
  expect("y[0]", room.y[0], n);
  expect("y[1]", room.y[1], n);
  expect("z[0]", room.z[0], n);
  expect("z[1]", room.z[1], 16);
  expect("plan without results", net_plan(&inputs, NULL, NULL), DLCC_OK);

  char *memory = malloc(bytes + NET_ARENA_ALIGN), *arena = memory;
  while ((uintptr_t)arena % NET_ARENA_ALIGN) ++arena;
  memset(y, canary, sizeof y);
  memset(z, canary, sizeof z);
  const net_outputs outputs = {y, z, &shapes};
  if (bytes > 0) expect("a small arena", net_run(&inputs, &outputs, arena, (size_t)bytes - 1), DLCC_ARENA_TOO_SMALL);
  expect("outputs of a small arena", is_untouched(y, sizeof y) && is_untouched(z, sizeof z), 1);
  expect("run", net_run(&inputs, &outputs, arena, (size_t)bytes), DLCC_OK);
  expect("shapes", memcmp(&room, &shapes, sizeof room), 0);
  expect("run without shapes", net_run(&inputs, &(net_outputs){y, z, NULL}, arena, (size_t)bytes), DLCC_OK);
  static float t[rows * columns];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      t[i * m + j] = 0; /* all sums are small integers, so they are exact */
      for (int64_t k = 0; k < 16; ++k) t[i * m + j] += x[i * 16 + k] * w[j * 16 + k];
    }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < m; ++k) sum += t[i * m + k] * t[j * m + k];
      expect("y", (int64_t)y[i * n + j], (int64_t)sum);
    }
  for (int64_t i = 0; i < n * 16; ++i) expect("z", (int64_t)z[i], (int64_t)(x[i] > 0 ? x[i] : 0));
  expect("after y", is_untouched(y + n * n, sizeof y - (size_t)(n * n) * sizeof *y), 1);
  expect("after z", is_untouched(z + n * 16, sizeof z - (size_t)(n * 16) * sizeof *z), 1);
  free(memory);
}

static void refuse(const net_dims *dims, int expected) {
  static char arena[4096];
  net_shapes room, shapes;
  uint64_t bytes;
  memset(&room, canary, sizeof room);
  memset(&shapes, canary, sizeof shapes);
  memset(&bytes, canary, sizeof bytes);
  memset(arena, canary, sizeof arena);
  memset(y, canary, sizeof y);
  memset(z, canary, sizeof z);
  const net_inputs inputs = {x, w, dims};
  const net_outputs outputs = {y, z, &shapes};
  expect("plan of a bad size", net_plan(&inputs, &room, &bytes), expected);
  expect("run of a bad size", net_run(&inputs, &outputs, arena, sizeof arena), expected);
  expect("memory after a bad size",
         is_untouched(&room, sizeof room) && is_untouched(&shapes, sizeof shapes) && is_untouched(&bytes, sizeof bytes) &&
             is_untouched(arena, sizeof arena) && is_untouched(y, sizeof y) && is_untouched(z, sizeof z),
         1);
}

int main(void) {
  for (int k = 0; k < rows * 16; ++k) x[k] = (float)(k % 7 - 3);
  for (int k = 0; k < columns * 16; ++k) w[k] = (float)(k % 5 - 2);
  static const int64_t batches[] = {1, 2, 7, 8, 33, 64};
  for (size_t b = 0; b < sizeof batches / sizeof *batches; ++b)
    for (int64_t m = 8; m <= columns; m += 8) run_at(batches[b], m);

  static const int64_t bad[] = {0,         -1,         65,        INT64_C(1) << 31, INT64_C(1) << 40,
                                INT64_C(1) << 62, INT64_MAX, INT64_MIN};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) refuse(&(net_dims){bad[k], 8}, DLCC_DIMENSION_OUT_OF_RANGE);
  /* m has no upper bound: it must be a multiple of 8, and tensors have at most 2^40 elements */
  static const int64_t bad_m[] = {0, -8, 12, INT64_C(1) << 40, INT64_C(1) << 62, INT64_MAX, INT64_MAX - 7, INT64_MIN};
  for (size_t k = 0; k < sizeof bad_m / sizeof *bad_m; ++k) refuse(&(net_dims){1, bad_m[k]}, DLCC_DIMENSION_OUT_OF_RANGE);
  refuse(NULL, DLCC_NULL_ARGUMENT);
  expect("plan without inputs", net_plan(NULL, NULL, NULL), DLCC_NULL_ARGUMENT);

  expect("dim_count", net_model.dim_count, 2);
  expect("dlcc_find_dim", dlcc_find_dim(&net_model, "m"), 1);
  expect("dlcc_find_dim of no size", dlcc_find_dim(&net_model, "k"), -1);
  expect("low", net_model.dims[0].low, 1);
  expect("high", net_model.dims[0].high, 64);
  expect("multiple", net_model.dims[1].multiple, 8);
  expect("no upper bound", net_model.dims[1].high == INT64_MAX, 1);
  expect("shape", net_model.inputs[0].shape[0], -1);
  expect("shape", net_model.inputs[0].shape[1], 16);
  expect("bytes", (int64_t)net_model.inputs[0].bytes, 0);
  expect("elements", dlcc_element_count(&net_model.inputs[0]), -1);
  expect("arena", (int64_t)net_model.arena_bytes, 0);
  uint64_t by_function = 0, by_model = 1;
  const net_dims dims = {3, 16};
  const void *pointers[] = {NULL, NULL, &dims};
  int64_t axes[4];
  expect("plan", net_plan(&(net_inputs){NULL, NULL, &dims}, NULL, &by_function), DLCC_OK);
  expect("plan of the model", net_model.plan(pointers, axes, &by_model), DLCC_OK);
  expect("arena of the model", (int64_t)by_model, (int64_t)by_function);
  expect("axes", axes[0] == 3 && axes[1] == 3 && axes[2] == 3 && axes[3] == 16, 1);
  return errors != 0;
}
