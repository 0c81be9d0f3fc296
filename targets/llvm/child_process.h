// Runs code in a forked child process: a crash or an endless loop ends the child only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace dlcc::targets {

class ChildProcess {
 public:
  // With memory that children write and the parent reads: a status and `number_count` numbers.
  explicit ChildProcess(size_t number_count);
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();

  // Runs `work` in a child for at most `seconds`. Returns what stopped the child, or "" if `work` returned.
  // `describe` names the memory at an address for the message; "" if it does not know the address.
  std::string run(int seconds, const std::function<void()>& work,
                  const std::function<std::string(uintptr_t)>& describe);

  int& status();      // 0 when a child begins
  double* numbers();  // kept from one child to the next

 private:
  struct Report;

  Report* report_;
  size_t bytes_;
};

}  // namespace dlcc::targets
