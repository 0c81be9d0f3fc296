#include "targets/llvm/target_machine_pool.h"

#include "targets/llvm/cpu_model.h"

namespace dlcc::targets {

std::unique_ptr<llvm::TargetMachine> TargetMachinePool::take(const CodeLevel& level) {
  {
    std::scoped_lock lock(mutex_);
    auto& unused = unused_[{level.cpu, level.features}];
    if (!unused.empty()) {
      std::unique_ptr<llvm::TargetMachine> machine = std::move(unused.back());
      unused.pop_back();
      return machine;
    }
  }
  return make_target_machine(target_, level, optimization_);
}

void TargetMachinePool::put(const CodeLevel& level, std::unique_ptr<llvm::TargetMachine> machine) {
  std::scoped_lock lock(mutex_);
  unused_[{level.cpu, level.features}].push_back(std::move(machine));
}

}  // namespace dlcc::targets
