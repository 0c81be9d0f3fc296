#include "support/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "support/deep_stack.h"

namespace dlcc {

void parallel_for(size_t count, int threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  auto take_indices = [&] {
    for (size_t i; !failed && (i = next++) < count;) {
      try {
        work(i);
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  };
  const size_t useful = std::min(count, static_cast<size_t>(std::max(threads, 1)));
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < useful) others.emplace_back([&] { on_deep_stack(take_indices); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those that there are do the work.
  }
  take_indices();
  for (std::thread& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dlcc
