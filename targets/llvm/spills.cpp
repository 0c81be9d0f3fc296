#include "targets/llvm/spills.h"

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineLoopInfo.h>
#include <llvm/CodeGen/PseudoSourceValue.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

#include <algorithm>

namespace dlcc::targets {

namespace {

class SpillCounter : public llvm::MachineFunctionPass {
 public:
  explicit SpillCounter(std::map<std::string, Spills>& of_function)
      : MachineFunctionPass(id_), of_function_(of_function) {}

  llvm::StringRef getPassName() const override { return "Spill counter"; }

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::MachineLoopInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& f) override {
    const llvm::MachineLoopInfo& loops = getAnalysis<llvm::MachineLoopInfoWrapperPass>().getLI();
    const llvm::TargetInstrInfo& instructions = *f.getSubtarget().getInstrInfo();
    Spills spills;
    for (const llvm::MachineBasicBlock& block : f) {
      int64_t depth = loops.getLoopDepth(&block);
      for (const llvm::MachineInstr& instruction : block) {
        Accesses accesses;
        if (instructions.hasStoreToStackSlot(instruction, accesses)) spills.stores += depth * count(f, accesses);
        accesses.clear();
        if (instructions.hasLoadFromStackSlot(instruction, accesses)) spills.loads += depth * count(f, accesses);
      }
    }
    if (spills != Spills{}) of_function_[f.getName().str()] = spills;
    return false;
  }

 private:
  using Accesses = llvm::SmallVector<const llvm::MachineMemOperand*, 2>;

  // The number of accesses to spill slots of general registers.
  static int64_t count(const llvm::MachineFunction& f, const Accesses& accesses) {
    const int64_t register_bytes = f.getDataLayout().getPointerSize();
    const llvm::MachineFrameInfo& frame = f.getFrameInfo();
    return std::ranges::count_if(accesses, [&](const llvm::MachineMemOperand* a) {
      const auto* slot = llvm::dyn_cast_or_null<llvm::FixedStackPseudoSourceValue>(a->getPseudoValue());
      return slot && frame.isSpillSlotObjectIndex(slot->getFrameIndex()) &&
             frame.getObjectSize(slot->getFrameIndex()) <= register_bytes;
    });
  }

  static inline char id_ = 0;
  std::map<std::string, Spills>& of_function_;
};

}  // namespace

llvm::Pass* make_spill_counter(std::map<std::string, Spills>& of_function) { return new SpillCounter(of_function); }

}  // namespace dlcc::targets
