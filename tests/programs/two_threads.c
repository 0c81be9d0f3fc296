// Two threads, each with its own arena, run one model at the same time; the results must equal those of a single thread.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "digits.h"

enum { pixels = 28 * 28, classes = 10, images = 64, rounds = 200 };

static float image[images][pixels], alone[images][classes];

struct worker {
  _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_BYTES];
  int first, wrong;
};

static int run(const float *in, float *out, struct worker *w) {
  digits_inputs inputs = {in};
  digits_outputs outputs = {out};
  return digits_run(&inputs, &outputs, w->arena, sizeof w->arena);
}

static void *work(void *argument) {
  struct worker *w = argument;
  for (int k = 0; k < rounds * images; ++k) {
    int i = (w->first + k) % images;
    float out[classes];
    if (run(image[i], out, w) != 0 || memcmp(out, alone[i], sizeof out) != 0) ++w->wrong;
  }
  return NULL;
}

int main(void) {
  static struct worker workers[2];
  unsigned state = 1;
  for (int i = 0; i < images; ++i)
    for (int p = 0; p < pixels; ++p) image[i][p] = (float)((state = state * 1664525u + 1013904223u) >> 24) / 255.0f;
  for (int i = 0; i < images; ++i)
    if (run(image[i], alone[i], &workers[0]) != 0) return 1;
  pthread_t threads[2];
  for (int t = 0; t < 2; ++t) {
    workers[t].first = t * images / 2;
    if (pthread_create(&threads[t], NULL, work, &workers[t]) != 0) return 1;
  }
  for (int t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  printf("%d calls on two threads, %d wrong\n", 2 * rounds * images, workers[0].wrong + workers[1].wrong);
  return workers[0].wrong + workers[1].wrong != 0;
}
