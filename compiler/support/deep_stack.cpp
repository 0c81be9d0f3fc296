// The stack is switched within the thread (makecontext) in place of starting a thread that has a large one: while a
// process has one thread, glibc counts references without atomic instructions.
#include "support/deep_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define DLCC_HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DLCC_HAS_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef DLCC_HAS_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace dlcc {

namespace {

constexpr size_t min_stack = size_t{8} << 20;  // bytes: what Linux gives a main thread by default

size_t page_size() { return static_cast<size_t>(std::max(sysconf(_SC_PAGESIZE), 4096L)); }

struct Bounds {
  uintptr_t low = 0;
  size_t size = 0;
};

Bounds bounds_of_thread() {
  pthread_attr_t attributes;
  Bounds bounds;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  if (pthread_attr_getstack(&attributes, &low, &bounds.size) == 0) bounds.low = reinterpret_cast<uintptr_t>(low);
  pthread_attr_destroy(&attributes);
  return bounds;
}

thread_local Bounds current_stack;  // of the calling thread; empty before it is asked for

// The largest stack that the system gives, above an inaccessible page; empty if it gives none.
class DeepStack {
 public:
  DeepStack() {
    for (size_t size = memory_for_recursion(); size >= min_stack; size /= 2) {
      void* memory = mmap(nullptr, size + page_size(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
      if (memory == MAP_FAILED) continue;
      memory_ = memory;
      size_ = size;
      mprotect(memory, page_size(), PROT_NONE);
      return;
    }
  }
  ~DeepStack() {
    if (memory_) munmap(memory_, size_ + page_size());
  }
  DeepStack(const DeepStack&) = delete;
  DeepStack& operator=(const DeepStack&) = delete;

  Bounds bounds() const {
    return memory_ ? Bounds{reinterpret_cast<uintptr_t>(memory_) + page_size(), size_} : Bounds{};
  }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
};

// What the function on the other stack needs; AddressSanitizer must know of each switch.
struct Switch {
  const std::function<void()>& work;
  Bounds stack;
  ucontext_t caller{}, callee{};
  std::exception_ptr exception;
  Bounds caller_stack{};

  void to_callee() {
#ifdef DLCC_HAS_ADDRESS_SANITIZER
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, reinterpret_cast<void*>(stack.low), stack.size);
    swapcontext(&caller, &callee);
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#else
    swapcontext(&caller, &callee);
#endif
  }

  void run() {
#ifdef DLCC_HAS_ADDRESS_SANITIZER
    const void* low = nullptr;
    __sanitizer_finish_switch_fiber(nullptr, &low, &caller_stack.size);
    caller_stack.low = reinterpret_cast<uintptr_t>(low);
#endif
    try {
      work();
    } catch (...) {
      exception = std::current_exception();
    }
#ifdef DLCC_HAS_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(nullptr, reinterpret_cast<void*>(caller_stack.low), caller_stack.size);
#endif
  }
};

// makecontext passes numbers of type int.
void run(unsigned high, unsigned low) { reinterpret_cast<Switch*>(static_cast<uintptr_t>(high) << 32 | low)->run(); }

}  // namespace

size_t memory_for_recursion() {
  const auto pages = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  size_t size = pages * page_size() / 2;
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    size = std::min<size_t>(size, space.rlim_cur / 4);
  return std::max(size / page_size() * page_size(), min_stack);
}

void on_deep_stack(const std::function<void()>& work) {
  const DeepStack stack;
  Switch shared{.work = work, .stack = stack.bounds()};
  if (shared.stack.size == 0 || getcontext(&shared.callee) != 0) return work();
  shared.callee.uc_stack.ss_sp = reinterpret_cast<void*>(shared.stack.low);
  shared.callee.uc_stack.ss_size = shared.stack.size;
  shared.callee.uc_link = &shared.caller;
  const auto address = reinterpret_cast<uintptr_t>(&shared);
  makecontext(&shared.callee, reinterpret_cast<void (*)()>(run), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
  const Bounds outer = std::exchange(current_stack, shared.stack);
  shared.to_callee();
  current_stack = outer;
  if (shared.exception) std::rethrow_exception(shared.exception);
}

StackSpace stack_space() {
  if (current_stack.size == 0) current_stack = bounds_of_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return {current_stack.size, here > current_stack.low ? here - current_stack.low : 0};
}

}  // namespace dlcc
