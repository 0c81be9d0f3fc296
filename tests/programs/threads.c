// One network compiled for one, two and three threads gives the same bytes: with the runtime's pool, with an executor of
// the program, from two threads of the program at once, within a task of the pool, and on overcommitted processors.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlcc/dlcc.h"
#include "one.h"
#include "three.h"
#include "two.h"

enum { tensors = 4, results = 2, rounds = 12 };

static float *input[tensors], *expected[results];

static void* allocate(uint64_t bytes, uint64_t alignment) {
  void* memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!memory) exit(1);
  memset(memory, 0xA5, bytes);
  return memory;
}

// Runs a model with its own memory. The first call sets the expected results; later ones compare with them.
static int is_wrong(const dlcc_model* model, const dlcc_context* context) {
  void *output[results], *arena = allocate(model->arena_bytes, model->arena_alignment);
  const void* inputs[tensors];
  int i, wrong;
  for (i = 0; i < tensors; ++i) inputs[i] = input[i];
  for (i = 0; i < results; ++i) output[i] = allocate(model->outputs[i].bytes, 64);
  wrong = model->run(inputs, output, arena, model->arena_bytes, context) != DLCC_OK;
  for (i = 0; i < results && !wrong; ++i) {
    if (!expected[i]) {
      expected[i] = output[i];
      output[i] = NULL;
    } else {
      wrong = memcmp(output[i], expected[i], model->outputs[i].bytes) != 0;
    }
  }
  for (i = 0; i < results; ++i) free(output[i]);
  free(arena);
  return wrong;
}

static int jobs;

static void backwards(void* self, int64_t count, void (*task)(void*, int64_t), void* argument) {
  int64_t i;
  *(int*)self += 1;
  for (i = count; i-- > 0;) task(argument, i);
}

static _Atomic int wrong_calls;

static void* work(void* model) {
  int i;
  for (i = 0; i < rounds; ++i) wrong_calls += is_wrong(model, NULL);
  return NULL;
}

static void nested(void* models, int64_t index) { wrong_calls += is_wrong(((const dlcc_model**)models)[index], NULL); }

enum { many_tasks = 1000 };

static void count_call(void* calls, int64_t index) { ((_Atomic int*)calls)[index]++; }

/* Runs jobs of 2 to `many_tasks` - 1 tasks; returns whether a task did not run exactly once. */
static int is_any_lost(const dlcc_executor* pool) {
  static _Atomic int calls[many_tasks];
  int i, round, lost = 0;
  for (round = 0; round < many_tasks; ++round) {
    int tasks = 2 + (round * 37) % (many_tasks - 2);
    for (i = 0; i < many_tasks; ++i) calls[i] = 0;
    pool->parallel_for(pool->self, tasks, count_call, (void*)calls);
    for (i = 0; i < many_tasks; ++i) lost += calls[i] != (i < tasks);
  }
  return lost;
}

static _Atomic int is_over;

static void* spin(void* unused) {
  while (!is_over) continue;
  return unused;
}

/* Runs with more busy threads than processors. The pool may change its workers' affinity, but not the caller's. */
static int is_wrong_overcommitted(const dlcc_model* model) {
  enum { spinners = 4 };
  pthread_t others[spinners];
  cpu_set_t before, after;
  int i, wrong = sched_getaffinity(0, sizeof before, &before) != 0;
  is_over = 0;
  for (i = 0; i < spinners; ++i)
    if (pthread_create(&others[i], NULL, spin, NULL) != 0) exit(1);
  for (i = 0; i < rounds; ++i) wrong += is_wrong(model, NULL);
  is_over = 1;
  for (i = 0; i < spinners; ++i) pthread_join(others[i], NULL);
  return wrong + (sched_getaffinity(0, sizeof after, &after) != 0) + !CPU_EQUAL(&before, &after);
}

static int check(int wrong, const char* what) {
  if (wrong) printf("wrong: %s\n", what);
  return wrong;
}

int main(void) {
  const dlcc_model* models[3] = {&two_model, &three_model, &one_model};
  const dlcc_executor* pool = dlcc_default_executor(3);
  dlcc_executor own = {&jobs, backwards, 1};
  dlcc_context context = {.executor = &own};
  unsigned state = 1;
  int i, errors = 0;
  pthread_t threads[2];
  for (i = 0; i < tensors; ++i) {
    uint64_t k, count = one_model.inputs[i].bytes / sizeof(float);
    input[i] = allocate(one_model.inputs[i].bytes, 64);
    for (k = 0; k < count; ++k) input[i][k] = (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
  }
  errors += check(is_wrong(&one_model, NULL), "one thread");
  for (i = 0; i < 3; ++i) errors += check(is_wrong(models[i], NULL), models[i]->name);
  for (i = 0; i < 3; ++i) errors += check(is_wrong(models[i], &context), "an executor of the program");
  errors += check(jobs == 0, "the executor was not used");
  for (i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, work, (void*)models[i]) != 0) return 1;
  for (i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  errors += check(wrong_calls, "two threads of the program");
  for (i = 0; i < rounds; ++i) pool->parallel_for(pool->self, 3, nested, models);
  errors += check(wrong_calls, "models inside of tasks");
  errors += check(is_any_lost(pool), "jobs of many tasks");
  for (i = 0; i < 2; ++i) errors += check(is_wrong_overcommitted(models[i]), "overcommitted processors");
  dlcc_stop_threads();
  dlcc_stop_threads();
  errors += check(is_wrong(&two_model, NULL), "after the threads were stopped");
  printf("%d jobs, %d errors\n", jobs, errors);
  return errors != 0;
}
