/* Calls a model with a result of data-dependent size (data_sizes.rly, prefix net). P_plan gives the upper bound, P_run
 * the actual size, and P_run writes nothing after the actual elements. */
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

enum { rows = 50 };

static float x[rows * 4], sums[4];
static int64_t positions[rows * 4 * 2];

static int64_t fill(int64_t n, int kind) { /* returns the number of elements that are not 0 */
  int64_t count = 0;
  for (int64_t k = 0; k < n * 4; ++k) {
    const int is_set = kind == 0 ? 0 : kind == 1 ? 1 : k % 3 == 0 || k % 7 == 1;
    x[k] = is_set ? (float)(k + 1) : 0;
    count += is_set;
  }
  return count;
}

static void run_at(int64_t n, int kind) {
  const int64_t count = fill(n, kind);
  const net_dims dims = {n};
  const net_inputs inputs = {x, &dims};
  net_shapes room, shapes;
  uint64_t bytes = 0;
  expect("plan", net_plan(&(net_inputs){NULL, &dims}, &room, &bytes), DLCC_OK);
  expect("the largest number of rows", room.positions[0], n * 4);
  expect("columns", room.positions[1], 2);

  char *memory = malloc(bytes + NET_ARENA_ALIGN), *arena = memory;
  while ((uintptr_t)arena % NET_ARENA_ALIGN) ++arena;
  memset(positions, 0x5A, sizeof positions);
  const net_outputs outputs = {positions, sums, &shapes};
  expect("run", net_run(&inputs, &outputs, arena, (size_t)bytes), DLCC_OK);
  expect("rows", shapes.positions[0], count);
  expect("columns", shapes.positions[1], 2);
  int64_t row = 0;
  float expected[4] = {0};
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < 4; ++j) {
      if (x[i * 4 + j] == 0) continue;
      expect("row", positions[row * 2], i);
      expect("column", positions[row * 2 + 1], j);
      for (int64_t k = 0; k < 4; ++k) expected[k] += x[i * 4 + k]; /* sums of integers are exact */
      ++row;
    }
  for (int64_t k = 0; k < 4; ++k) expect("sum", (int64_t)sums[k], (int64_t)expected[k]);
  for (int64_t k = row * 2; k < rows * 4 * 2; ++k) expect("after the rows", positions[k], 0x5A5A5A5A5A5A5A5A);
  expect("run without shapes", net_run(&inputs, &(net_outputs){positions, sums, NULL}, arena, (size_t)bytes), DLCC_OK);
  free(memory);
}

int main(void) {
  for (int kind = 0; kind < 3; ++kind) {
    run_at(1, kind);
    run_at(7, kind);
    run_at(rows, kind);
  }
  return errors != 0;
}
