/* The default executor: one pool of threads for all models of the process. Optional: only models compiled for several
 * threads link it.
 *
 * A job is a count of tasks, each at a place that the caller or a worker takes: first its own place, so that a thread
 * gets the same share of all kernels and finds in its cache what it wrote there, then what is left of the others'. So a
 * job ends whoever takes part: also when a worker is late, when none could be started, or in the child of a fork, which
 * has none. Workers spin for a while between jobs, since a model's kernels follow each other closely and waking costs
 * as much as a small kernel (on virtual machines more), and then sleep in a futex. One job at a time: a caller that
 * finds the pool at work, perhaps because it is a task of that job itself, runs its tasks alone.
 *
 * Where other threads want the processors, too, a job would wait for whichever of its threads is not running. So a
 * worker that finds itself on its caller's processor, where the system likes to wake it, leaves it for the others. And
 * when all that is left of a job is with workers that were taken off their processors, these are brought to the
 * caller's, and the caller sleeps meanwhile. */
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
  most_workers = 255,
  most_places = most_workers + 1,
  /* Of a pause each: some hundred microseconds, longer than what runs in one thread between two jobs. */
  spins = 1 << 13,
  /* Of a waiting caller, before it looks at its workers, and between looks. A look makes the system think about who
   * should run, perhaps to the worker's disadvantage. */
  spins_before_looks = 1 << 11,
  spins_between_looks = 1 << 7
};

typedef void task_function(void* argument, int64_t index);

/* The job. A late worker may read its fields while the next job is written; what it read counts only if it takes a
 * place, and by then all places of the old job are taken. */
static _Atomic(task_function*) job_task;
static _Atomic(void*) job_argument;
static _Atomic int64_t job_count;
static _Atomic uint64_t job; /* its number << 8 | its places - 1; with more tasks than places, each place has several */
static _Atomic uint32_t unfinished; /* places */

static _Atomic int caller_processor;

/* A place, with the number of the newest job at which it was taken, and whether its thread is amid that job; on a cache
 * line of its own. */
static struct {
  _Alignas(64) _Atomic uint64_t taken;
  _Atomic int at_work;
} places[most_places];

static _Atomic uint32_t posted;   /* number of the newest job; idle workers wait for it to change */
static _Atomic uint32_t sleepers; /* workers that may be waiting and that nobody woke */
static _Atomic int caller_sleeps;
static _Atomic int busy; /* some caller owns the pool */
static _Atomic int stopping;

/* Worker k has place k + 1. What a waiting caller knows of it belongs to the caller that owns the pool. */
static struct {
  pthread_t thread;
  int64_t ran; /* its running time when last looked at */
  int fetched; /* to the caller's processor */
} workers[most_workers];

/* Starting and stopping. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int worker_count, asked; /* workers that there are, and that were ever asked for */
static pid_t owner;                     /* the process whose threads they are */

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Returns when the word has another value, or sooner. */
static void wait_for_change(_Atomic uint32_t* word, uint32_t value) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
#else
  (void)word, (void)value;
  sched_yield();
#endif
}

static void wake_all(_Atomic uint32_t* word) {
#ifdef __linux__
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most_workers, NULL, NULL, 0);
#else
  (void)word;
#endif
}

/* Takes places of the newest job, beginning with one's own, until none is left. */
static void take_part(uint32_t own) {
  uint64_t now = atomic_load_explicit(&job, memory_order_acquire), number = now >> 8;
  task_function* task = atomic_load_explicit(&job_task, memory_order_relaxed);
  void* argument = atomic_load_explicit(&job_argument, memory_order_relaxed);
  int64_t i, count = atomic_load_explicit(&job_count, memory_order_relaxed);
  uint32_t k, all = (uint32_t)(now & 0xFF) + 1;
  atomic_store_explicit(&places[own].at_work, 1, memory_order_relaxed);
  for (k = 0; k < all; ++k) {
    uint32_t place = (own + k) % all;
    uint64_t taken = atomic_load_explicit(&places[place].taken, memory_order_relaxed);
    if (taken >= number || !atomic_compare_exchange_strong_explicit(&places[place].taken, &taken, number,
                                                                    memory_order_acq_rel, memory_order_relaxed))
      continue;
    for (i = place; i < count; i += all) task(argument, i);
    if (atomic_fetch_sub(&unfinished, 1) == 1 && atomic_load(&caller_sleeps)) wake_all(&unfinished);
  }
  atomic_store_explicit(&places[own].at_work, 0, memory_order_relaxed);
}

/* The caller's processor, if the calling worker stands in the way there, else -1. */
static int callers_processor_here(void) {
  int processor = atomic_load_explicit(&caller_processor, memory_order_relaxed);
  return processor == dlcc_current_processor() ? processor : -1;
}

static void* work(void* own) {
  uint32_t seen = 0;
  while (!atomic_load(&stopping)) {
    uint32_t number = atomic_load_explicit(&posted, memory_order_acquire);
    int i = 0;
    if (number != seen) {
      int processor = callers_processor_here();
      if (processor >= 0) dlcc_keep_off_processor(pthread_self(), processor);
      take_part((uint32_t)(uintptr_t)own);
      seen = number;
      if (callers_processor_here() >= 0) i = spins; /* sleeps at once */
    }
    for (; i < spins && atomic_load_explicit(&posted, memory_order_relaxed) == seen; ++i) pause_briefly();
    if (i < spins) continue;
    atomic_fetch_add(&sleepers, 1);
    if (atomic_load(&posted) == seen) wait_for_change(&posted, seen);
  }
  return NULL;
}

static void announce(void) {
  atomic_fetch_add(&posted, 1);
  if (atomic_load(&sleepers) > 0 && atomic_exchange(&sleepers, 0) > 0) wake_all(&posted);
}

/* Brings the workers that are amid the job but have not run since the last look to this processor, where they run as
 * soon as the caller sleeps. Whether there are any. */
static int fetch_stopped_workers(int processor) {
  int k, any = 0, count = atomic_load_explicit(&worker_count, memory_order_acquire);
  for (k = 0; k < count; ++k) {
    if (!atomic_load_explicit(&places[k + 1].at_work, memory_order_relaxed)) continue;
    int64_t ran = dlcc_running_time(workers[k].thread);
    workers[k].fetched = ran >= 0 && ran == workers[k].ran && dlcc_bring_to_processor(workers[k].thread, processor);
    workers[k].ran = ran;
    any |= workers[k].fetched;
  }
  return any;
}

static void let_fetched_workers_go(int processor) {
  int k, count = atomic_load_explicit(&worker_count, memory_order_acquire);
  for (k = 0; k < count; ++k) {
    if (workers[k].fetched) dlcc_keep_off_processor(workers[k].thread, processor);
    workers[k].fetched = 0;
  }
}

static void wait_until_finished(void) {
  uint32_t left = 0;
  int i, fetched = 0;
  for (i = 1; i <= spins && !fetched; ++i) {
    if (atomic_load_explicit(&unfinished, memory_order_acquire) == 0) return;
    pause_briefly();
    if (i >= spins_before_looks && i % spins_between_looks == 0)
      fetched = fetch_stopped_workers(dlcc_current_processor());
  }
  atomic_store(&caller_sleeps, 1);
  while ((left = atomic_load(&unfinished)) != 0) wait_for_change(&unfinished, left);
  atomic_store(&caller_sleeps, 0);
  if (fetched) let_fetched_workers_go(dlcc_current_processor());
}

static void parallel_for(void* self, int64_t count, task_function* task, void* argument) {
  int64_t i;
  (void)self;
  if (count < 2 || atomic_load_explicit(&worker_count, memory_order_relaxed) == 0 ||
      atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
    for (i = 0; i < count; ++i) task(argument, i);
    return;
  }
  uint32_t all = count < most_places ? (uint32_t)count : most_places;
  uint64_t number = (atomic_load_explicit(&job, memory_order_relaxed) >> 8) + 1;
  atomic_store_explicit(&job_task, task, memory_order_relaxed);
  atomic_store_explicit(&job_argument, argument, memory_order_relaxed);
  atomic_store_explicit(&job_count, count, memory_order_relaxed);
  atomic_store_explicit(&unfinished, all, memory_order_relaxed);
  atomic_store_explicit(&caller_processor, dlcc_current_processor(), memory_order_relaxed);
  atomic_store_explicit(&job, number << 8 | (all - 1), memory_order_release);
  announce();
  take_part(0);
  wait_until_finished();
  atomic_store_explicit(&busy, 0, memory_order_release);
}

static const dlcc_executor executor = {NULL, parallel_for, most_workers + 1};

const dlcc_executor* dlcc_default_executor(int32_t threads) {
  int wanted = threads - 1 < most_workers ? threads - 1 : most_workers;
  if (atomic_load_explicit(&asked, memory_order_acquire) >= wanted) return &executor;
  pthread_mutex_lock(&starting);
  int count = atomic_load(&worker_count);
  if (count == 0) {
    owner = getpid();
    dlcc_remember_processors();
  }
  while (count < wanted && pthread_create(&workers[count].thread, NULL, work, (void*)(uintptr_t)(count + 1)) == 0)
    ++count;
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
    for (i = 0; i < count; ++i) pthread_join(workers[i].thread, NULL);
    atomic_store(&stopping, 0);
    atomic_store_explicit(&busy, 0, memory_order_release);
  }
  pthread_mutex_unlock(&starting);
}
