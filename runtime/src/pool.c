/* The default executor: one pool of threads for all models of the process. Optional: only models compiled for several
 * threads link it.
 *
 * A job is a count of tasks that the caller and the workers claim one by one, so that it ends whoever takes part: also
 * when a worker is late, when none could be started, or in the child of a fork, which has none. Workers spin for a while
 * between jobs, since a model's kernels follow each other closely and waking costs as much as a small kernel (on virtual
 * machines more), and then sleep in a futex. A worker that was taken off its processor shares it with somebody: it spins
 * little for its next sleeps, lest it use up its share of the time and is stopped amid a task. One job at a time: a
 * caller that finds the pool at work, perhaps because it is a task of that job itself, runs its tasks alone. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#endif

#include "dlcc/dlcc.h"

enum {
  most_workers = 255,
  /* Of a pause each: some hundred microseconds, longer than what runs in one thread between two jobs; and some ten. */
  many_spins = 1 << 13,
  few_spins = 1 << 9,
  wary_sleeps = 1 << 10
};

typedef void task_function(void *argument, int64_t index);

/* The job. A late worker may read its fields while the next job is written; what it read counts only if it claims a
 * task, which fails then, since the ticket is changed before them. */
static _Atomic(task_function *) job_task;
static _Atomic(void *) job_argument;
static _Atomic uint32_t job_count;
static _Atomic uint64_t ticket; /* number of the job << 32 | its next task */
static _Atomic uint32_t unfinished;

static _Atomic uint32_t posted;   /* number of the newest job; idle workers wait for it to change */
static _Atomic uint32_t sleepers; /* workers that may be waiting */
static _Atomic int caller_sleeps;
static _Atomic int busy; /* some caller owns the pool */
static _Atomic int stopping;

/* Starting and stopping. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static pthread_t workers[most_workers];
static _Atomic int worker_count, asked; /* workers that there are, and that were ever asked for */
static pid_t owner; /* the process whose threads they are */

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Returns when the word has another value, or sooner. */
static void wait_for_change(_Atomic uint32_t *word, uint32_t value) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
#else
  (void)word, (void)value;
  sched_yield();
#endif
}

static void wake_all(_Atomic uint32_t *word) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most_workers, NULL, NULL, 0);
#else
  (void)word;
#endif
}

/* How often the scheduler took this thread off its processor. */
static long preemptions(void) {
#ifdef __linux__
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
#else
  return 0;
#endif
}

/* Runs tasks of job `number` until all are claimed. */
static void take_part(uint32_t number) {
  uint64_t next = atomic_load_explicit(&ticket, memory_order_acquire);
  while (next >> 32 == number) {
    task_function *task = atomic_load_explicit(&job_task, memory_order_acquire);
    void *argument = atomic_load_explicit(&job_argument, memory_order_acquire);
    uint32_t index = (uint32_t)next;
    if (index >= atomic_load_explicit(&job_count, memory_order_acquire)) return;
    if (!atomic_compare_exchange_weak_explicit(&ticket, &next, next + 1, memory_order_acq_rel, memory_order_acquire))
      continue;
    task(argument, index);
    if (atomic_fetch_sub(&unfinished, 1) == 1 && atomic_load(&caller_sleeps)) wake_all(&unfinished);
    next = atomic_load_explicit(&ticket, memory_order_acquire);
  }
}

static void *work(void *unused) {
  uint32_t seen = 0;
  int wary = 0;
  long before = 0;
  (void)unused;
  while (!atomic_load(&stopping)) {
    uint32_t number = atomic_load_explicit(&posted, memory_order_acquire);
    int i, spins = wary > 0 ? few_spins : many_spins;
    if (number != seen) {
      take_part(number);
      seen = number;
    }
    for (i = 0; i < spins && atomic_load_explicit(&posted, memory_order_relaxed) == seen; ++i) pause_briefly();
    if (i < spins) continue;
    long now = preemptions();
    wary = now != before ? wary_sleeps : wary > 0 ? wary - 1 : 0;
    before = now;
    atomic_fetch_add(&sleepers, 1);
    if (atomic_load(&posted) == seen) wait_for_change(&posted, seen);
    atomic_fetch_sub(&sleepers, 1);
  }
  return NULL;
}

static void announce(void) {
  atomic_fetch_add(&posted, 1);
  if (atomic_load(&sleepers) > 0) wake_all(&posted);
}

static void wait_until_finished(void) {
  uint32_t left = 0;
  int i;
  for (i = 0; i < many_spins; ++i) {
    if (atomic_load_explicit(&unfinished, memory_order_acquire) == 0) return;
    pause_briefly();
  }
  atomic_store(&caller_sleeps, 1);
  while ((left = atomic_load(&unfinished)) != 0) wait_for_change(&unfinished, left);
  atomic_store(&caller_sleeps, 0);
}

static void parallel_for(void *self, int64_t count, task_function *task, void *argument) {
  int64_t i;
  (void)self;
  if (count < 2 || count > UINT32_MAX || atomic_load_explicit(&worker_count, memory_order_relaxed) == 0 ||
      atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
    for (i = 0; i < count; ++i) task(argument, i);
    return;
  }
  uint32_t number = atomic_load_explicit(&posted, memory_order_relaxed) + 1;
  atomic_store_explicit(&ticket, (uint64_t)number << 32 | UINT32_MAX, memory_order_relaxed);
  atomic_store_explicit(&job_task, task, memory_order_release);
  atomic_store_explicit(&job_argument, argument, memory_order_release);
  atomic_store_explicit(&job_count, (uint32_t)count, memory_order_release);
  atomic_store_explicit(&unfinished, (uint32_t)count, memory_order_relaxed);
  atomic_store_explicit(&ticket, (uint64_t)number << 32, memory_order_release);
  announce();
  take_part(number);
  wait_until_finished();
  atomic_store_explicit(&busy, 0, memory_order_release);
}

static const dlcc_executor executor = {NULL, parallel_for, most_workers + 1};

const dlcc_executor *dlcc_default_executor(int32_t threads) {
  int wanted = threads - 1 < most_workers ? threads - 1 : most_workers;
  if (atomic_load_explicit(&asked, memory_order_acquire) >= wanted) return &executor;
  pthread_mutex_lock(&starting);
  int count = atomic_load(&worker_count);
  if (count == 0) owner = getpid();
  while (count < wanted && pthread_create(&workers[count], NULL, work, NULL) == 0) ++count;
  atomic_store(&worker_count, count);
  if (atomic_load(&asked) < wanted) atomic_store_explicit(&asked, wanted, memory_order_release);
  pthread_mutex_unlock(&starting);
  return &executor;
}

/* Also when the process ends or the library that holds the pool is closed. */
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
    for (i = 0; i < count; ++i) pthread_join(workers[i], NULL);
    atomic_store(&stopping, 0);
    atomic_store_explicit(&busy, 0, memory_order_release);
  }
  pthread_mutex_unlock(&starting);
}
