#define _GNU_SOURCE
#include "processors.h"

#ifdef __linux__
#include <sched.h>
#include <time.h>

static cpu_set_t remembered; /* the saved mask; empty at first, and if the system has more processors than cpu_set_t */

int dlcc_current_processor(void) { return sched_getcpu(); }

void dlcc_save_affinity_mask(void) {
  if (sched_getaffinity(0, sizeof remembered, &remembered) != 0) CPU_ZERO(&remembered);
}

void dlcc_exclude_processor(pthread_t thread, int processor) {
  cpu_set_t others = remembered;
  if (processor >= 0) CPU_CLR(processor, &others);
  if (CPU_COUNT(&others) > 0) pthread_setaffinity_np(thread, sizeof others, &others);
}

int dlcc_pin_to_processor(pthread_t thread, int processor) {
  cpu_set_t only;
  if (processor < 0 || !CPU_ISSET(processor, &remembered)) return 0;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  return pthread_setaffinity_np(thread, sizeof only, &only) == 0;
}

int64_t dlcc_thread_cpu_time(pthread_t thread) {
  clockid_t clock;
  struct timespec time;
  if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
  return time.tv_sec * (int64_t)1000000000 + time.tv_nsec;
}

#else

int dlcc_current_processor(void) { return -1; }
void dlcc_save_affinity_mask(void) {}
void dlcc_exclude_processor(pthread_t thread, int processor) { (void)thread, (void)processor; }
int dlcc_pin_to_processor(pthread_t thread, int processor) { return (void)thread, (void)processor, 0; }
int64_t dlcc_thread_cpu_time(pthread_t thread) { return (void)thread, -1; }

#endif
