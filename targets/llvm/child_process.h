// Runs code in a forked child process: a crash or an endless loop ends the child only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace dlcc::targets {

class ChildProcess {
 public:
  // Allocates memory that the children share with the parent: a status and `number_count` numbers.
  explicit ChildProcess(size_t number_count);
  ChildProcess(const ChildProcess&) = delete;
  ~ChildProcess();

  // Runs `work` in a child for at most `seconds` seconds. Returns "" if `work` returned, else a message with the
  // signal, and the access if it was a memory fault. describe(address) names the memory at an address for the message;
  // "" if the address is unknown.
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
