// Loops whose iterations several threads share.
#include "support/parallel_for.h"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace dlcc;

TEST_CASE("each index is taken once, by any number of threads") {
  for (int threads : {0, 1, 2, 7}) {
    CAPTURE(threads);
    std::vector<std::atomic<int>> calls(100);
    parallel_for(calls.size(), threads, [&](size_t i) { ++calls[i]; });
    for (const std::atomic<int>& n : calls) CHECK(n == 1);
  }
  parallel_for(0, 4, [](size_t) { FAIL("there is no index"); });
}

TEST_CASE("two threads work at the same time") {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> begun = 0;
  parallel_for(2, 2, [&](size_t) {
    for (++begun; begun < 2;) std::this_thread::yield();
    std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  CHECK(threads.size() == 2);
  CHECK(threads.contains(std::this_thread::get_id()));
}

TEST_CASE("after an exception no call begins, and the exception is rethrown") {
  std::atomic<int> calls = 0;
  auto fails = [&](size_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("index 3");
  };
  CHECK_THROWS_WITH_AS(parallel_for(1000, 1, fails), "index 3", std::runtime_error);
  CHECK(calls == 4);
  CHECK_THROWS_WITH_AS(parallel_for(1000, 3, fails), "index 3", std::runtime_error);
}
