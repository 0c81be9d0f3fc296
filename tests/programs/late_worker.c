/* A worker of the pool that read a job and continues only after the next one started takes no chunk of it. The file of
 * the pool is included, because no call of its interface delays a worker between these two steps. */
#include "pool.c"

#include <stdio.h>
#include <stdlib.h>

enum { tasks = 37, threads = 3 };

static _Atomic int runs[tasks];
static uint64_t finished; /* `job` when the last job was finished */

static void count_run(void* argument, int64_t index) {
  (void)argument;
  atomic_fetch_add(&runs[index], 1);
}

/* A task that first tries each queue, as a late worker of the finished job does. The process ends where it gets a
 * chunk, because the current job does not end then. */
static void try_queues_of_finished_job(void* argument, int64_t index) {
  uint32_t queue, chunks = (uint32_t)(finished & 0xFF);
  for (queue = 0; queue < threads; ++queue)
    if (take_chunk(queue, finished >> 16, chunks) < chunks) {
      fputs("a late worker took a chunk of a finished job\n", stderr);
      _Exit(1);
    }
  count_run(argument, index);
}

int main(void) {
  const dlcc_executor* executor = dlcc_default_executor(threads);
  int i, repeat;
  for (repeat = 1; repeat <= 100; ++repeat) {
    executor->parallel_for(executor->self, tasks, count_run, NULL);
    finished = atomic_load(&job);
    executor->parallel_for(executor->self, tasks, try_queues_of_finished_job, NULL);
    for (i = 0; i < tasks; ++i)
      if (runs[i] != 2 * repeat) {
        printf("task %d ran %d times in %d jobs\n", i, runs[i], 2 * repeat);
        return 1;
      }
  }
  return 0;
}
