/* The default executor: one pool of threads for all models of the process. Optional: only models compiled for several
 * threads link it.
 *
 * A job is a count of tasks. Each of its threads has a place with an equal, consecutive share of them, in pieces of
 * which each is half of what is left. A thread takes the pieces of its own place first, so that it gets the same share
 * of all kernels and finds in its cache what it wrote there, and then what is left of the others'. So a job ends whoever
 * takes part: also when a worker is late or slow, when none could be started, or in the child of a fork, which has none.
 * Workers spin for a while between jobs, since a model's kernels follow each other closely and waking costs as much as
 * a small kernel (on virtual machines more), and then sleep in a futex. One job at a time: a caller that finds the pool
 * at work, perhaps because it is a task of that job itself, runs its tasks alone.
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
 * piece, and by then all pieces of the old job are taken. */
static _Atomic(task_function*) job_task;
static _Atomic(void*) job_argument;
static _Atomic int64_t job_count;
static _Atomic uint64_t job;        /* its number << 16 | its places - 1 << 8 | pieces of a place */
static _Atomic uint32_t unfinished; /* pieces */

static _Atomic int caller_processor;

/* A place, on a cache line of its own. */
static struct {
  _Alignas(64) _Atomic uint64_t taken; /* number of the newest job of which pieces were taken << 8 | how many */
  _Atomic int at_work;                 /* its thread is amid a job */
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

/* A piece of the job's place that nobody has taken before, or `pieces` when there is none. */
static uint32_t take_piece(uint32_t place, uint64_t number, uint32_t pieces) {
  uint64_t taken = atomic_load_explicit(&places[place].taken, memory_order_relaxed);
  for (;;) {
    uint32_t piece = taken >> 8 == number ? (uint32_t)(taken & 0xFF) : 0;
    if (taken >> 8 > number || piece >= pieces) return pieces;
    if (atomic_compare_exchange_weak_explicit(&places[place].taken, &taken, number << 8 | (piece + 1),
                                              memory_order_acq_rel, memory_order_relaxed))
      return piece;
  }
}

/* Where the share of a place begins, and in a share of `size` tasks a piece, or what lies behind the last. */
static int64_t share_begins(int64_t count, uint32_t all, uint32_t place) {
  int64_t rest = count % all;
  return count / all * place + (place < rest ? place : rest);
}
static int64_t piece_begins(int64_t size, uint32_t pieces, uint32_t piece) {
  return piece < pieces ? size - (size >> piece) : size;
}

/* Takes pieces of the newest job, beginning with those of one's own place, until none is left. */
static void take_part(uint32_t own) {
  uint64_t now = atomic_load_explicit(&job, memory_order_acquire), number = now >> 16;
  task_function* task = atomic_load_explicit(&job_task, memory_order_relaxed);
  void* argument = atomic_load_explicit(&job_argument, memory_order_relaxed);
  int64_t count = atomic_load_explicit(&job_count, memory_order_relaxed);
  uint32_t k, piece, done = 0, all = (uint32_t)(now >> 8 & 0xFF) + 1, pieces = (uint32_t)(now & 0xFF);
  if (own >= all) return;
  atomic_store_explicit(&places[own].at_work, 1, memory_order_relaxed);
  for (k = 0; k < all; ++k) {
    uint32_t place = (own + k) % all;
    for (; (piece = take_piece(place, number, pieces)) < pieces; ++done) {
      int64_t first = share_begins(count, all, place), size = share_begins(count, all, place + 1) - first;
      int64_t i = piece_begins(size, pieces, piece), end = piece_begins(size, pieces, piece + 1);
      for (; i < end; ++i) task(argument, first + i);
    }
  }
  if (done > 0 && atomic_fetch_sub(&unfinished, done) == done && atomic_load(&caller_sleeps)) wake_all(&unfinished);
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

/* `self` is the executor. */
static void parallel_for(void* self, int64_t count, task_function* task, void* argument) {
  int64_t i, threads = ((const dlcc_executor*)self)->threads;
  if (count < 2 || threads < 2 || atomic_load_explicit(&worker_count, memory_order_relaxed) == 0 ||
      atomic_exchange_explicit(&busy, 1, memory_order_acquire)) {
    for (i = 0; i < count; ++i) task(argument, i);
    return;
  }
  uint32_t all = (uint32_t)(count < threads ? count : threads);
  uint32_t pieces = 1; /* down to single tasks, in the largest share */
  while ((count + all - 1) / all >> pieces > 0) ++pieces;
  uint64_t number = (atomic_load_explicit(&job, memory_order_relaxed) >> 16) + 1;
  atomic_store_explicit(&job_task, task, memory_order_relaxed);
  atomic_store_explicit(&job_argument, argument, memory_order_relaxed);
  atomic_store_explicit(&job_count, count, memory_order_relaxed);
  atomic_store_explicit(&unfinished, all * pieces, memory_order_relaxed);
  atomic_store_explicit(&caller_processor, dlcc_current_processor(), memory_order_relaxed);
  atomic_store_explicit(&job, number << 16 | (all - 1) << 8 | pieces, memory_order_release);
  announce();
  take_part(0);
  wait_until_finished();
  atomic_store_explicit(&busy, 0, memory_order_release);
}

/* For one thread, for two, and so on; those for several are written when the pool is started first. */
static dlcc_executor executors[most_places] = {{executors, parallel_for, 1}};

const dlcc_executor* dlcc_default_executor(int32_t threads) {
  int i, wanted = threads < 1 ? 0 : threads < most_places ? threads - 1 : most_workers;
  const dlcc_executor* executor = &executors[wanted];
  if (atomic_load_explicit(&asked, memory_order_acquire) >= wanted) return executor;
  pthread_mutex_lock(&starting);
  int count = atomic_load(&worker_count);
  if (count == 0) {
    owner = getpid();
    dlcc_remember_processors();
    for (i = 1; i < most_places && !executors[i].parallel_for; ++i)
      executors[i] = (dlcc_executor){&executors[i], parallel_for, i + 1};
  }
  while (count < wanted && pthread_create(&workers[count].thread, NULL, work, (void*)(uintptr_t)(count + 1)) == 0)
    ++count;
  atomic_store(&worker_count, count);
  if (atomic_load(&asked) < wanted) atomic_store_explicit(&asked, wanted, memory_order_release);
  pthread_mutex_unlock(&starting);
  return executor;
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
