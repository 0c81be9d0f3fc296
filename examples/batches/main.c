/* Finds known descriptors in batches of 1, 8 and 200 noisy queries with one compiled model. As --dim bounds the sizes,
 * the arena has a constant size. */
#include <stdio.h>

#include "nearest.h"

enum { LENGTH = 64, DESCRIPTORS = 1000 };

static float descriptors[DESCRIPTORS][LENGTH], queries[NEAREST_N_HIGH][LENGTH];
static _Alignas(NEAREST_ARENA_ALIGN) unsigned char arena[NEAREST_ARENA_BYTES];

/* A number in [-1, 1): Lehmer's generator. */
static float noise(void) {
  static uint32_t state = 1;
  state = (uint32_t)((uint64_t)state * 48271 % 2147483647);
  return (float)state / 1073741824.0f - 1.0f;
}

/* The descriptor that query `i` of a batch is made from. */
static int origin(int64_t i) { return (int)(i * 617 % DESCRIPTORS); }

static dlcc_status find(int64_t batch) {
  static int64_t positions[NEAREST_N_HIGH];
  static float distances[NEAREST_N_HIGH];
  const nearest_dims dims = {.n = batch, .m = DESCRIPTORS};
  const nearest_inputs inputs = {queries[0], descriptors[0], &dims};
  const nearest_outputs outputs = {.positions = positions, .distances = distances};
  dlcc_status status = nearest_plan(&inputs, NULL, NULL); /* checks the sizes */
  if (status != DLCC_OK) return status;
  for (int64_t i = 0; i < batch; ++i)
    for (int k = 0; k < LENGTH; ++k) queries[i][k] = descriptors[origin(i)][k] + 0.1f * noise();

  status = nearest_run(&inputs, &outputs, arena, sizeof arena);
  if (status != DLCC_OK) return status;
  int found = 0;
  for (int64_t i = 0; i < batch; ++i) found += positions[i] == origin(i);
  printf("%d queries: %d found, the first at a squared distance of %.1f\n", (int)batch, found, (double)distances[0]);
  return DLCC_OK;
}

int main(void) {
  for (int i = 0; i < DESCRIPTORS; ++i)
    for (int k = 0; k < LENGTH; ++k) descriptors[i][k] = noise();
  if (find(1) || find(8) || find(200)) return 1;
  printf("%d queries: status %d, a size out of its bounds\n", NEAREST_N_HIGH + 1, (int)find(NEAREST_N_HIGH + 1));
  return 0;
}
