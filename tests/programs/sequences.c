/* A model whose input s is a sequence of two tensors and whose optional input is absent: its pointer is null. */
#include <stdio.h>

#include "sequences.h"

int main(void) {
  static _Alignas(SEQUENCES_ARENA_ALIGN) unsigned char arena[SEQUENCES_ARENA_BYTES + 1];
  const float first[2] = {1, 2}, second[2] = {3, 4}, x[2] = {5, -6};
  float pieces_0[3], pieces_1[1], y[2];
  const sequences_inputs inputs = {.s_0 = first, .s_1 = second, .o = NULL, .x = x};
  const sequences_outputs outputs = {.pieces_0 = pieces_0, .pieces_1 = pieces_1, .y = y};
  const int status = sequences_run(&inputs, &outputs, arena, sizeof arena);
  printf("%d: %g %g %g, %g; %g %g\n", status, pieces_0[0], pieces_0[1], pieces_0[2], pieces_1[0], y[0], y[1]);
  return status;
}
