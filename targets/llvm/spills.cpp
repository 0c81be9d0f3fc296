#include "targets/llvm/spills.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Function.h>

namespace dlcc::targets {

namespace {

class SpillCounter : public llvm::DiagnosticHandler {
 public:
  explicit SpillCounter(std::map<std::string, Spills>& of_function) : of_function_(of_function) {}

  bool isMissedOptRemarkEnabled(llvm::StringRef pass) const override { return pass == "regalloc"; }
  bool isAnyRemarkEnabled() const override { return true; }

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getKind() != llvm::DK_MachineOptimizationRemarkMissed) return false;
    const auto& remark = static_cast<const llvm::DiagnosticInfoOptimizationBase&>(info);
    if (remark.getRemarkName() != "LoopSpillReloadCopies") return true;
    Spills& spills = of_function_[remark.getFunction().getName().str()];
    for (const auto& argument : remark.getArgs()) {
      if (argument.Key == "NumSpills" || argument.Key == "NumFoldedSpills") spills.stores += std::stoll(argument.Val);
      if (argument.Key == "NumReloads" || argument.Key == "NumFoldedReloads") spills.loads += std::stoll(argument.Val);
    }
    return true;
  }

 private:
  std::map<std::string, Spills>& of_function_;
};

}  // namespace

void count_spills(llvm::LLVMContext& context, std::map<std::string, Spills>& of_function) {
  context.setDiagnosticHandler(std::make_unique<SpillCounter>(of_function));
}

}  // namespace dlcc::targets
