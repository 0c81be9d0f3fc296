// Target machines that compilation units use one after the other. LLVM computes the features and legal operations of a
// CPU for each machine, which takes as long as compiling a small kernel.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "targets/target.h"

namespace dlcc::targets {

class TargetMachinePool {
 public:
  TargetMachinePool(const Target& target, int optimization) : target_(target), optimization_(optimization) {}

  // Calls `work` with a machine for the level, which no other thread uses meanwhile, and returns its result.
  template <typename Work>
  auto with_machine(const CodeLevel& level, Work&& work) {
    std::unique_ptr<llvm::TargetMachine> machine = take(level);
    auto result = work(*machine);
    put(level, std::move(machine));
    return result;
  }

 private:
  std::unique_ptr<llvm::TargetMachine> take(const CodeLevel&);
  void put(const CodeLevel&, std::unique_ptr<llvm::TargetMachine>);

  const Target& target_;
  int optimization_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::vector<std::unique_ptr<llvm::TargetMachine>>> unused_;
};

}  // namespace dlcc::targets
