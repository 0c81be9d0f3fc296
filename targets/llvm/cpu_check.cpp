#include "targets/llvm/cpu_check.h"

#include <llvm/IR/IRBuilder.h>

#include "targets/llvm/level_test.h"

namespace dlcc::targets {

using llvm::Value;

llvm::Function* define_level_choice(llvm::Module& module, const std::string& symbol, const Target& target) {
  const bool is_single = target.levels.size() == 1;
  const bool is_checked = target.level_detection == LevelDetection::cpuid || !is_single;
  if (!is_checked) return nullptr;
  DLCC_CHECK(target.level_detection != LevelDetection::none, "target {} has no check for several CPU levels",
             target.name);
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  llvm::Type* i32 = b.getInt32Ty();
  // 0: not checked yet; 1: no level; else the level's index plus 2.
  auto* cache = new llvm::GlobalVariable(module, i32, false, llvm::GlobalValue::InternalLinkage, b.getInt32(0),
                                         symbol + "_cache");
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(i32, false), llvm::GlobalValue::InternalLinkage, symbol, module);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, function); };
  auto *entry = block("entry"), *known = block("known"), *unknown = block("unknown");

  b.SetInsertPoint(entry);
  auto* cached = b.CreateAlignedLoad(i32, cache, llvm::Align(4));
  cached->setAtomic(llvm::AtomicOrdering::Monotonic);
  b.CreateCondBr(b.CreateICmpNE(cached, b.getInt32(0)), known, unknown);
  b.SetInsertPoint(known);
  b.CreateRet(b.CreateSub(cached, b.getInt32(2)));

  b.SetInsertPoint(unknown);
  const LevelTest supports =
      target.level_detection == LevelDetection::cpuid ? read_cpuid(b, target) : read_id_registers(b, target);
  Value* best = b.getInt32(1);
  for (size_t i = 0; i < target.levels.size(); ++i)
    best = b.CreateSelect(supports(i), b.getInt32(static_cast<uint32_t>(i + 2)), best);
  b.CreateAlignedStore(best, cache, llvm::Align(4))->setAtomic(llvm::AtomicOrdering::Monotonic);
  b.CreateRet(b.CreateSub(best, b.getInt32(2)));
  return function;
}

}  // namespace dlcc::targets
