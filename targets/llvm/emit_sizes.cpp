#include "targets/llvm/emit_sizes.h"

#include "lower/entry_sizes.h"
#include "targets/llvm/debug_info.h"
#include "targets/llvm/emit_kernel.h"

namespace dlcc::targets {

using llvm::Value;

// In memory, an element has the type of the scalar; a bool is one byte.
Value* load_element(llvm::IRBuilder<>& b, Value* tensor, DType type, int64_t element) {
  llvm::Type* stored = is_bool(type) ? b.getInt8Ty() : type_of_scalar(b.getContext(), type);
  Value* pointer = b.CreateConstInBoundsGEP1_64(stored, tensor, static_cast<uint64_t>(element));
  Value* loaded = b.CreateAlignedLoad(stored, pointer, llvm::Align(1));
  return is_bool(type) ? b.CreateICmpNE(loaded, b.getInt8(0)) : loaded;
}

namespace {

Value* element(llvm::IRBuilder<>& b, Value* array, size_t position) {
  return b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), array, position);
}

}  // namespace

Value* SizesArray::load(llvm::IRBuilder<>& b, Value* array, size_t position) const {
  return b.CreateLoad(b.getInt64Ty(), element(b, array, position));
}

void SizesArray::store(llvm::IRBuilder<>& b, Value* size, Value* array, size_t position) const {
  b.CreateStore(size, element(b, array, position));
}

llvm::Function* emit_sizes_function(llvm::Module& module, const ModelParts& parts, const llvm::MCSubtargetInfo& cpu,
                                    DebugInfo* debug) {
  llvm::IRBuilder<> b(module.getContext());
  const std::string symbol = parts.interface.prefix + "_sizes";
  auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, symbol, module);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  if (debug) {
    debug->describe(function, symbol, parts.text->run_line);
    b.SetCurrentDebugLocation(location(function, parts.text->run_line));
  }

  const lower::EntrySizes sizes = lower::entry_sizes(parts.program, parts.plan);
  const SizesArray array(parts);
  ScalarValues scalars;
  auto scalar = [&](const tensor::Expr& e) { return emit_scalar(b, e, scalars, parts.target.baseline, cpu); };
  for (size_t k = 0; k < sizes.given.size(); ++k) scalars[sizes.given[k]] = array.load(b, function->getArg(0), k);
  auto require = [&](Value* condition, tensor::Status status) {
    auto* bad = llvm::BasicBlock::Create(module.getContext(), "bad", function);
    auto* good = llvm::BasicBlock::Create(module.getContext(), "good", function);
    b.CreateCondBr(condition, good, bad);
    b.SetInsertPoint(bad);
    b.CreateRet(b.getInt32(static_cast<uint32_t>(status)));
    b.SetInsertPoint(good);
  };
  auto read = [&](const lower::Read& step) {
    const lower::Value& from = parts.program.values[static_cast<size_t>(step.from)];
    Value* slot = b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function->getArg(1), static_cast<uint64_t>(from.index));
    Value* input = b.CreateLoad(b.getPtrTy(), slot);
    require(b.CreateIsNotNull(input), tensor::Status::null_argument);
    require(b.CreateNot(is_misaligned(b, input, alignment_of(from.type))), tensor::Status::arena_misaligned);
    return load_element(b, input, from.type, step.element);
  };
  for (const lower::Step& step : sizes.steps.steps) {
    if (const auto* compute = std::get_if<lower::Compute>(&step))
      scalars[compute->result] = scalar(compute->value);
    else if (const auto* r = std::get_if<lower::Read>(&step))
      scalars[r->result] = read(*r);
    else
      require(scalar(std::get<lower::Require>(step).condition), std::get<lower::Require>(step).status);
  }
  auto keep = [&](const tensor::Expr& e, size_t position) { array.store(b, scalar(e), function->getArg(2), position); };
  for (size_t k = 0; k < sizes.symbols.size(); ++k) keep(sizes.symbols[k], array.symbol(k));
  for (size_t f = 0; f < sizes.blocks.size(); ++f)
    for (size_t k = 0; k < sizes.blocks[f].size(); ++k) keep(sizes.blocks[f][k], array.block(f, k));
  keep(sizes.arenas.back(), array.arena_bytes());
  b.CreateRet(b.getInt32(0));
  return function;
}

Value* is_misaligned(llvm::IRBuilder<>& b, Value* pointer, int64_t alignment) {
  if (alignment <= 1) return b.getFalse();
  Value* low = b.CreateAnd(b.CreatePtrToInt(pointer, b.getInt64Ty()), b.getInt64(static_cast<uint64_t>(alignment - 1)));
  return b.CreateICmpNE(low, b.getInt64(0));
}

int64_t alignment_of(DType type) { return std::max(bits(type) / 8, 1); }

}  // namespace dlcc::targets
