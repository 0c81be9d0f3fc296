/* The default executor: a thread pool that all models of a process share. Only models compiled with --threads=N link
 * it.
 *
 * A job is a number of tasks, run by the caller and the workers. Each of these threads has a queue: an equal,
 * consecutive range of the tasks, divided into chunks. Each chunk is half of the remaining range (guided
 * self-scheduling, Polychronopoulos and Kuck, 1987). A thread first takes the chunks of its own queue, so that it runs
 * the same share of every kernel and finds data that it wrote in its cache. Then it steals chunks from other queues. So
 * a job ends with any number of workers, even if a worker is late or slow, if none could be started, and in the child
 * of a fork, which has none.
 *
 * The kernels of a model follow each other closely, and waking a thread takes as long as a small kernel, on virtual
 * machines longer. So workers spin for a while between jobs and then sleep in a futex. The pool runs one job at a time.
 * A caller that finds the pool busy, for example because it is itself in a task of that job, runs its tasks alone.
 *
 * Other threads of the system may preempt the job's threads, and a job waits for its slowest thread. There are two
 * measures against that. A worker that runs on the caller's processor, where Linux tends to wake it, excludes that
 * processor from its affinity mask. If unfinished chunks belong to preempted workers, the caller binds these workers to
 * its own processor and sleeps. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "dlcc/dlcc.h"
#include "processors.h"

enum {
  max_workers = 255,
  max_queues = max_workers + 1,
  /* Iterations, each with a pause instruction, before a thread sleeps: some hundred microseconds, longer than the
   * serial code between two jobs. */
  spins = 1 << 13,
  /* Iterations before a waiting caller first checks whether workers are preempted, and between checks. A check is a
   * system call that may cost a worker its time slice. */
  spins_before_checks = 1 << 11,
  spins_between_checks = 1 << 7
};

typedef void task_function(void* argument, int64_t index);

/* The current job. A late worker may read fields of two different jobs. It uses them only if it takes a chunk of the
 * older job, which it cannot: all chunks of a job are taken before the next job is written. */
static _Atomic(task_function*) task_entry;
static _Atomic(void*) task_argument;
static _Atomic int64_t task_count;
static _Atomic uint64_t job;        /* job number << 16 | (number of queues - 1) << 8 | chunks per queue */
static _Atomic uint32_t unfinished; /* number of chunks */

static _Atomic int caller_processor;

/* The queues, each on a cache line of its own. */
static struct {
  _Alignas(64) _Atomic uint64_t taken; /* newest job number with taken chunks << 8 | number of taken chunks */
  _Atomic int at_work;                 /* whether its thread runs chunks */
} queues[max_queues];

static _Atomic uint32_t posted;   /* number of the newest job; idle workers wait for a change */
static _Atomic uint32_t sleepers; /* upper bound of the workers that sleep */
static _Atomic int caller_sleeps;
static _Atomic int busy; /* whether a caller owns the pool */
static _Atomic int stopping;

/* Worker k has queue k + 1, the caller has queue 0. The caller that owns the pool writes the other two members. */
static struct {
  pthread_t thread;
  int64_t ran;  /* its CPU time at the last check, in nanoseconds */
  int migrated; /* whether it is bound to the caller's processor */
} workers[max_workers];

/* Starting and stopping. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int worker_count, asked; /* numbers of workers: running; the largest ever requested */
static pid_t owner;                     /* the process that started the workers */

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Returns when the word no longer has this value; may also return earlier. */
static void futex_wait(_Atomic uint32_t* word, uint32_t value) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
#else
  (void)word, (void)value;
  sched_yield();
#endif
}

static void futex_wake_all(_Atomic uint32_t* word) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, max_workers, NULL, NULL, 0);
#else
  (void)word;
#endif
}

/* Takes the next chunk of a queue: its index, or `chunks` if the queue is empty or the job is over. */
static uint32_t take_chunk(uint32_t queue, uint64_t number, uint32_t chunks) {
  uint64_t taken = atomic_load_explicit(&queues[queue].taken, memory_order_relaxed);
  for (;;) {
    uint32_t chunk = taken >> 8 == number ? (uint32_t)(taken & 0xFF) : 0;
    if (taken >> 8 > number || chunk >= chunks) return chunks;
    if (atomic_compare_exchange_weak_explicit(&queues[queue].taken, &taken, number << 8 | (chunk + 1),
                                              memory_order_acq_rel, memory_order_relaxed))
      return chunk;
  }
}

/* The first task of a queue, and the first task of a chunk within a queue of `size` tasks. */
static int64_t queue_begin(int64_t count, uint32_t all, uint32_t queue) {
  int64_t rest = count % all;
  return count / all * queue + (queue < rest ? queue : rest);
}
static int64_t chunk_begin(int64_t size, uint32_t chunks, uint32_t chunk) {
  return chunk < chunks ? size - (size >> chunk) : size;
}

/* Runs chunks of the newest job, first those of the thread's own queue, until all queues are empty. */
static void run_chunks(uint32_t own) {
  uint64_t now = atomic_load_explicit(&job, memory_order_acquire), number = now >> 16;
  task_function* task = atomic_load_explicit(&task_entry, memory_order_relaxed);
  void* argument = atomic_load_explicit(&task_argument, memory_order_relaxed);
  int64_t count = atomic_load_explicit(&task_count, memory_order_relaxed);
  uint32_t k, chunk, done = 0, all = (uint32_t)(now >> 8 & 0xFF) + 1, chunks = (uint32_t)(now & 0xFF);
  if (own >= all) return;
  atomic_store_explicit(&queues[own].at_work, 1, memory_order_relaxed);
  for (k = 0; k < all; ++k) {
    uint32_t queue = (own + k) % all;
    for (; (chunk = take_chunk(queue, number, chunks)) < chunks; ++done) {
      int64_t first = queue_begin(count, all, queue), size = queue_begin(count, all, queue + 1) - first;
      int64_t i = chunk_begin(size, chunks, chunk), end = chunk_begin(size, chunks, chunk + 1);
      for (; i < end; ++i) task(argument, first + i);
    }
  }
  if (done > 0 && atomic_fetch_sub(&unfinished, done) == done && atomic_load(&caller_sleeps))
    futex_wake_all(&unfinished);
  atomic_store_explicit(&queues[own].at_work, 0, memory_order_relaxed);
}

/* The caller's processor if the calling worker runs on the same one, else -1. */
static int find_conflict(void) {
  int processor = atomic_load_explicit(&caller_processor, memory_order_relaxed);
  return processor == dlcc_current_processor() ? processor : -1;
}

static void* work(void* own) {
  uint32_t seen = 0;
  while (!atomic_load(&stopping)) {
    uint32_t number = atomic_load_explicit(&posted, memory_order_acquire);
    int i = 0;
    if (number != seen) {
      int processor = find_conflict();
      if (processor >= 0) dlcc_exclude_processor(pthread_self(), processor);
      run_chunks((uint32_t)(uintptr_t)own);
      seen = number;
      if (find_conflict() >= 0) i = spins; /* no spinning: sleeps */
    }
    for (; i < spins && atomic_load_explicit(&posted, memory_order_relaxed) == seen; ++i) pause_briefly();
    if (i < spins) continue;
    atomic_fetch_add(&sleepers, 1);
    if (atomic_load(&posted) == seen) futex_wait(&posted, seen);
  }
  return NULL;
}

static void announce(void) {
  atomic_fetch_add(&posted, 1);
  if (atomic_load(&sleepers) > 0 && atomic_exchange(&sleepers, 0) > 0) futex_wake_all(&posted);
}

/* Binds the workers that run chunks but got no CPU time since the last check to this processor, where they continue as
 * soon as the caller sleeps. Returns whether there are any. */
static int migrate_preempted_workers(int processor) {
  int k, any = 0, count = atomic_load_explicit(&worker_count, memory_order_acquire);
  for (k = 0; k < count; ++k) {
    if (!atomic_load_explicit(&queues[k + 1].at_work, memory_order_relaxed)) continue;
    int64_t ran = dlcc_thread_cpu_time(workers[k].thread);
    workers[k].migrated = ran >= 0 && ran == workers[k].ran && dlcc_pin_to_processor(workers[k].thread, processor);
    workers[k].ran = ran;
    any |= workers[k].migrated;
  }
  return any;
}

static void release_migrated_workers(int processor) {
  int k, count = atomic_load_explicit(&worker_count, memory_order_acquire);
  for (k = 0; k < count; ++k) {
    if (workers[k].migrated) dlcc_exclude_processor(workers[k].thread, processor);
    workers[k].migrated = 0;
  }
}

static void wait_until_finished(void) {
  uint32_t left = 0;
  int i, migrated = 0;
  for (i = 1; i <= spins && !migrated; ++i) {
    if (atomic_load_explicit(&unfinished, memory_order_acquire) == 0) return;
    pause_briefly();
    if (i >= spins_before_checks && i % spins_between_checks == 0)
      migrated = migrate_preempted_workers(dlcc_current_processor());
  }
  atomic_store(&caller_sleeps, 1);
  while ((left = atomic_load(&unfinished)) != 0) futex_wait(&unfinished, left);
  atomic_store(&caller_sleeps, 0);
  if (migrated) release_migrated_workers(dlcc_current_processor());
}

/* dlcc_executor::parallel_for; `self` is the executor. */
static void parallel_for(void* self, int64_t count, task_function* task, void* argument) {
  int64_t i, threads = ((const dlcc_executor*)self)->threads;
  if (count < 2 || threads < 2 || atomic_load_explicit(&worker_count, memory_order_relaxed) == 0 ||
      atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
    for (i = 0; i < count; ++i) task(argument, i);
    return;
  }
  uint32_t all = (uint32_t)(count < threads ? count : threads);
  uint32_t chunks = 1; /* the last chunk of the longest queue is one task */
  while ((count + all - 1) / all >> chunks > 0) ++chunks;
  uint64_t number = (atomic_load_explicit(&job, memory_order_relaxed) >> 16) + 1;
  atomic_store_explicit(&task_entry, task, memory_order_relaxed);
  atomic_store_explicit(&task_argument, argument, memory_order_relaxed);
  atomic_store_explicit(&task_count, count, memory_order_relaxed);
  atomic_store_explicit(&unfinished, all * chunks, memory_order_relaxed);
  atomic_store_explicit(&caller_processor, dlcc_current_processor(), memory_order_relaxed);
  atomic_store_explicit(&job, number << 16 | (all - 1) << 8 | chunks, memory_order_release);
  announce();
  run_chunks(0);
  wait_until_finished();
  atomic_store_explicit(&busy, 0, memory_order_release);
}

/* executors[n - 1] is for n threads; those for several threads are initialized when the pool starts. */
static dlcc_executor executors[max_queues] = {{executors, parallel_for, 1}};

const dlcc_executor* dlcc_default_executor(int32_t threads) {
  int i, wanted = threads < 1 ? 0 : threads < max_queues ? threads - 1 : max_workers;
  const dlcc_executor* executor = &executors[wanted];
  if (atomic_load_explicit(&asked, memory_order_acquire) >= wanted) return executor;
  pthread_mutex_lock(&starting);
  int count = atomic_load(&worker_count);
  if (count == 0) {
    owner = getpid();
    dlcc_save_affinity_mask();
    for (i = 1; i < max_queues && !executors[i].parallel_for; ++i)
      executors[i] = (dlcc_executor){&executors[i], parallel_for, i + 1};
  }
  while (count < wanted && pthread_create(&workers[count].thread, NULL, work, (void*)(uintptr_t)(count + 1)) == 0)
    ++count;
  atomic_store(&worker_count, count);
  if (atomic_load(&asked) < wanted) atomic_store_explicit(&asked, wanted, memory_order_release);
  pthread_mutex_unlock(&starting);
  return executor;
}

/* A destructor: called also when the process exits or the shared library with the pool is closed. */
__attribute__((destructor)) void dlcc_stop_threads(void) {
  int i, count;
  pthread_mutex_lock(&starting);
  count = atomic_load(&worker_count);
  if (count > 0 && owner == getpid()) {
    while (atomic_exchange_explicit(&busy, 1, memory_order_acquire)) sched_yield();
    atomic_store(&worker_count, 0);
    atomic_store(&asked, 0);
    atomic_store(&stopping, 1);
    announce();
    for (i = 0; i < count; ++i) pthread_join(workers[i].thread, NULL);
    atomic_store(&stopping, 0);
    atomic_store_explicit(&busy, 0, memory_order_release);
  }
  pthread_mutex_unlock(&starting);
}
