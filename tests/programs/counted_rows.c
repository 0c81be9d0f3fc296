/* Calls a model with scan outputs whose number of rows depends on data (counted_rows.rly, prefix net): no row, some, as
 * many as there may be, and one too many. The rows are written in the caller's memory, and nothing after them. */
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

enum { most = 6 };

static void run_until(int64_t count) {
  float x[4] = {0, 0, 0, 0}, bound[most] = {9}, guarded[(most + 1) * 4], squares[most + 1];
  const float limit = (float)(4 * count); /* the sum of row k, counted from 1, is 4 * k */
  const net_dims dims = {most};
  const net_inputs inputs = {x, &limit, bound, &dims};
  net_shapes room, shapes;
  uint64_t bytes = 0;
  expect("plan", net_plan(&inputs, &room, &bytes), DLCC_OK);
  expect("the largest number of rows", room.rows[0], most);
  expect("the largest number of squares", room.squares[0], most);

  char *memory = malloc(bytes + NET_ARENA_ALIGN), *arena = memory;
  while ((uintptr_t)arena % NET_ARENA_ALIGN) ++arena;
  memset(guarded, 0x5A, sizeof guarded);
  memset(squares, 0x5A, sizeof squares);
  const float untouched = squares[0];
  const net_outputs outputs = {guarded, squares, &shapes};
  const int status = net_run(&inputs, &outputs, arena, (size_t)bytes);
  expect("run", status, count > most ? DLCC_INDEX_OUT_OF_RANGE : DLCC_OK);
  const int64_t rows = count > most ? most : count;
  if (status == DLCC_OK) {
    expect("rows", shapes.rows[0], rows);
    expect("columns", shapes.rows[1], 4);
    expect("squares", shapes.squares[0], rows);
    for (int64_t k = 0; k < rows * 4; ++k) expect("row", (int64_t)guarded[k], k / 4 + 1);
    for (int64_t k = 0; k < rows; ++k) expect("square", (int64_t)squares[k], 16 * (k + 1) * (k + 1));
  }
  for (int64_t k = rows * 4; k < (most + 1) * 4; ++k) expect("after the rows", guarded[k] == untouched, 1);
  expect("after the squares", squares[most] == untouched, 1);
  free(memory);
}

int main(void) {
  for (int64_t count = 0; count <= most + 1; ++count) run_until(count);
  return errors != 0;
}
