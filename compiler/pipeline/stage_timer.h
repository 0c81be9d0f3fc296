// Runs the stages of a compilation, reports each to a progress callback and measures its time.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dlcc {

class StageTimer {
 public:
  explicit StageTimer(std::function<void(const std::string&)> progress) : progress_(std::move(progress)) {}

  // Calls `work` and returns its result. The callback gets the stage's name before and "" after.
  template <class F>
  auto run(const std::string& stage, F&& work) {
    struct Ending {
      const StageTimer& timer;
      ~Ending() { timer.tell(""); }
    };
    tell(stage);
    Ending ending{*this};
    auto start = std::chrono::steady_clock::now();
    auto result = work();
    stages_.emplace_back(stage, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return result;
  }

  void tell(const std::string& progress) const {
    if (progress_) progress_(progress);
  }

  // A line for each stage, in milliseconds, and their sum.
  std::string table() const;

 private:
  std::function<void(const std::string&)> progress_;
  std::vector<std::pair<std::string, double>> stages_;  // names and seconds
};

}  // namespace dlcc
