#include "support/deep_stack.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <exception>

namespace dlcc {

namespace {

constexpr size_t min_stack = size_t{8} << 20;  // bytes: what Linux gives a main thread by default

// Half of the memory, but at most a quarter of the address space if that is limited; in bytes.
size_t largest_stack() {
  const auto pages = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  const auto page = static_cast<size_t>(std::max(sysconf(_SC_PAGESIZE), 4096L));
  size_t size = pages * page / 2;
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    size = std::min<size_t>(size, space.rlim_cur / 4);
  return std::max(size / page * page, min_stack);
}

struct Work {
  const std::function<void()>& function;
  sigset_t signals;  // the signals that the caller had blocked before
  std::exception_ptr exception;
};

void* run(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  pthread_sigmask(SIG_SETMASK, &work.signals, nullptr);
  try {
    work.function();
  } catch (...) {
    work.exception = std::current_exception();
  }
  return nullptr;
}

// Starts a thread with the largest stack that the system gives.
bool start(pthread_t& thread, Work& work) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  bool started = false;
  for (size_t size = largest_stack(); !started && size >= min_stack; size /= 2)
    started =
        pthread_attr_setstacksize(&attributes, size) == 0 && pthread_create(&thread, &attributes, run, &work) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

struct Bounds {
  uintptr_t low = 0;
  size_t size = 0;
};

Bounds bounds_of_stack() {
  pthread_attr_t attributes;
  Bounds bounds;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  if (pthread_attr_getstack(&attributes, &low, &bounds.size) == 0) bounds.low = reinterpret_cast<uintptr_t>(low);
  pthread_attr_destroy(&attributes);
  return bounds;
}

}  // namespace

// The calling thread blocks all signals while it waits, so that the working thread gets the signals of the process.
void on_deep_stack(const std::function<void()>& work) {
  Work shared{work, {}, nullptr};
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &shared.signals);
  pthread_t thread;
  const bool started = start(thread, shared);
  if (started) pthread_join(thread, nullptr);
  pthread_sigmask(SIG_SETMASK, &shared.signals, nullptr);
  if (!started) return work();
  if (shared.exception) std::rethrow_exception(shared.exception);
}

StackSpace stack_space() {
  thread_local const Bounds bounds = bounds_of_stack();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return {bounds.size, here > bounds.low ? here - bounds.low : 0};
}

}  // namespace dlcc
