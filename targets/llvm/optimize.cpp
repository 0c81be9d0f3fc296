#include "targets/llvm/optimize.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include <optional>
#include <vector>

#include "targets/llvm/cpu_model.h"

namespace dlcc::targets {

namespace {

struct Sum {
  llvm::Value* pointer;
  int64_t bytes;
};

std::optional<Sum> constant_sum(llvm::Value* v, const llvm::DataLayout& layout) {
  auto* sum = llvm::dyn_cast<llvm::GetElementPtrInst>(v);
  llvm::APInt bytes(64, 0);
  if (!sum || !sum->accumulateConstantOffset(layout, bytes)) return std::nullopt;
  return Sum{sum->getPointerOperand(), bytes.getSExtValue()};
}

// Reverts a rewrite of InstCombine. Code after a loop continues from the loop's final pointer (`end`). InstCombine
// expresses that address relative to the pointer at the start of the last iteration (`begin`), which then stays live as
// well.
void rebase_on_loop_exit(llvm::Function& f, const llvm::DominatorTree& dominators) {
  const llvm::DataLayout& layout = f.getParent()->getDataLayout();
  for (llvm::BasicBlock& header : f)
    for (llvm::PHINode& begin : header.phis())
      for (llvm::Value* end : begin.incoming_values()) {
        auto step = constant_sum(end, layout);
        if (!step || step->pointer != &begin) continue;
        const auto* at = llvm::cast<llvm::Instruction>(end);
        std::vector<llvm::User*> users(begin.user_begin(), begin.user_end());
        for (llvm::User* user : users) {
          auto sum = constant_sum(user, layout);
          auto* use = llvm::cast<llvm::Instruction>(user);
          if (!sum || sum->pointer != &begin || !dominators.properlyDominates(at->getParent(), use->getParent()))
            continue;
          llvm::IRBuilder<> b(use);
          llvm::Value* from_end = b.CreateGEP(b.getInt8Ty(), end, b.getInt64(sum->bytes - step->bytes));
          use->replaceAllUsesWith(from_end);
          use->eraseFromParent();
        }
      }
}

// Whether an address is in an operand that is constant while the function runs.
bool is_constant_operand(const llvm::Value* pointer) {
  const auto* argument = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(pointer));
  return argument && argument->hasNoAliasAttr() && argument->onlyReadsMemory();
}

bool is_float_phi(const llvm::PHINode& phi) { return phi.getType()->isFloatTy(); }

// The largest number of floats that a loop in `loop`, or itself, keeps from one iteration to the next.
int64_t floats_kept_in(const llvm::Loop& loop) {
  int64_t most = 0;
  for (llvm::BasicBlock* block : loop.blocks())
    most = std::max<int64_t>(most, llvm::count_if(block->phis(), is_float_phi));
  return most;
}

// Moves loads of constant floats, such as the scales and biases of an epilogue, out of loops in which they are the same
// and are executed in every iteration, as far as an FPU has registers for them. Loads of integers stay: the weights of
// byte products would fill the other registers.
void hoist_constant_floats(llvm::Function& f) {
  constexpr int64_t registers = 16;  // half of an FPU's; the others are for the operands of the accumulators
  llvm::DominatorTree dominators(f);
  llvm::LoopInfo loops(dominators);
  const auto outermost_first = loops.getLoopsInPreorder();
  for (llvm::Loop* loop : llvm::reverse(outermost_first)) {
    int64_t kept = floats_kept_in(*loop);
    llvm::BasicBlock* before = loop->getLoopPreheader();
    llvm::SmallVector<llvm::BasicBlock*> exiting;
    loop->getExitingBlocks(exiting);
    for (llvm::BasicBlock* block : loop->blocks()) {
      const bool always =
          llvm::all_of(exiting, [&](const llvm::BasicBlock* exit) { return dominators.dominates(block, exit); });
      if (!before || !always) continue;
      for (llvm::Instruction& i : llvm::make_early_inc_range(*block)) {
        auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
        if (!load || !load->getType()->isFloatTy() || !is_constant_operand(load->getPointerOperand())) continue;
        bool changed = false;
        if (kept >= registers || !loop->makeLoopInvariant(load->getPointerOperand(), changed)) continue;
        load->moveBefore(before->getTerminator());
        ++kept;
      }
    }
  }
}

}  // namespace

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(false));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  const bool is_arm = is_arm32(*machine.getMCSubtargetInfo());
  passes.addPass(llvm::EarlyCSEPass(is_arm));  // also across stores that do not alias
  passes.addPass(llvm::InstCombinePass());
  if (machine.getTargetTriple().isAArch64()) {
    // Neighbouring data along K becomes one vector, of which each multiply-add takes a lane.
    passes.addPass(llvm::LoadStoreVectorizerPass());
    passes.addPass(llvm::InstCombinePass());
  }
  for (llvm::Function& f : module) {
    if (f.isDeclaration()) continue;
    passes.run(f, functions);
    rebase_on_loop_exit(f, llvm::DominatorTree(f));
    if (is_arm && machine.getSubtargetImpl(f)->checkFeatures("+vfp2sp")) hoist_constant_floats(f);
  }
}

}  // namespace dlcc::targets
