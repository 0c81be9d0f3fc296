// Intrinsic calls, by the rules that tensor/intrinsic.h describes.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "support/row_major.h"
#include "targets/llvm/kernel_emitter.h"
#include "tensor/byte_products.h"
#include "tensor/intrinsic.h"
#include "tensor/tile_transpose.h"
#include "tensor/word_products.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

constexpr std::string_view function_rule = "call ", instruction_rule = "llvm.";

llvm::Align natural_alignment(const BufferNode& b) { return llvm::Align(static_cast<uint64_t>(element_bytes(b.type))); }

}  // namespace

void KernelEmitter::emit_intrinsic(const IntrinsicCall& x) {
  const Intrinsic& i = *x.intrinsic;
  bool possible = !lanes_;  // not within a vector loop: the instruction is a vector itself
  for (const std::string& feature : i.required_features) possible &= cpu_.checkFeatures("+" + feature);
  for (const Region& box : x.operands) possible &= bits(box.buffer->type) >= 8;
  if (possible && i.emission.starts_with(function_rule))
    emit_function_call(x, i.emission.substr(function_rule.size()));
  else if (possible && i.emission.starts_with(instruction_rule))
    emit_instruction(x);
  else if (possible && i.emission == tile_transpose_emission)
    emit_tile_transpose(x);
  else if (possible && i.emission == widened_bytes_emission)
    emit_widened_bytes(x);
  else if (possible && i.emission == word_products_emission)
    emit_word_products(x);
  else if (!possible || i.emission != byte_products_emission || !emit_byte_products(x))
    emit(strip_mine_vector_loops(inline_intrinsic(x), level_.machine, has_byte_lookups(cpu_)));
}

Value* KernelEmitter::pointer_to(const Region& box) {
  return address(memory_.at(box.buffer.get()), flatten(*box.buffer, box.begin), element_bytes(box.buffer->type));
}

void KernelEmitter::emit_function_call(const IntrinsicCall& x, const std::string& function) {
  std::vector<Value*> arguments;
  for (size_t k = 0; k < x.operands.size(); ++k) {
    const BufferNode& buffer = *x.operands[k].buffer;
    const Shape& strides = strides_of(buffer);
    arguments.push_back(pointer_to(x.operands[k]));
    for (int d = buffer.rank() - x.intrinsic->operands[k].buffer->rank(); d + 1 < buffer.rank(); ++d)
      arguments.push_back(value_of(strides[static_cast<size_t>(d)]));
  }
  std::vector<llvm::Type*> types;
  for (Value* a : arguments) types.push_back(a->getType());
  llvm::Module& module = *function_->getParent();
  b_.CreateCall(module.getOrInsertFunction(function, llvm::FunctionType::get(b_.getVoidTy(), types, false)), arguments);
}

void KernelEmitter::emit_instruction(const IntrinsicCall& x) {
  const Intrinsic& i = *x.intrinsic;
  llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(i.emission);
  DLCC_CHECK(id != llvm::Intrinsic::not_intrinsic && !llvm::Intrinsic::isOverloaded(id),
             "{}: LLVM has no instruction '{}'", i.name, i.emission);
  llvm::Function* instruction = llvm::Intrinsic::getDeclaration(function_->getParent(), id);
  DLCC_CHECK(instruction->arg_size() == x.operands.size(), "{} has {} operands, {} has {}", i.name, x.operands.size(),
             i.emission, instruction->arg_size());
  // The accumulator comes first.
  size_t written = i.operands.size();
  std::vector<size_t> order;
  for (size_t k = 0; k < i.operands.size(); ++k) {
    if (i.operands[k].access == Access::write) written = k;
    order.insert(i.operands[k].access == Access::write ? order.begin() : order.end(), k);
  }
  DLCC_CHECK(written < i.operands.size(), "{} writes nothing", i.name);
  std::vector<Value*> arguments;
  for (size_t k : order) {
    const BufferNode& operand = *i.operands[k].buffer;
    llvm::Type* type = instruction->getArg(static_cast<unsigned>(arguments.size()))->getType();
    int64_t bytes = storage_bytes(operand.type, product(operand.shape).value());
    DLCC_CHECK(operand.rank() == 1 && static_cast<int64_t>(type->getPrimitiveSizeInBits()) == 8 * bytes,
               "{}: operand {} is not a register of {}", i.name, k, i.emission);
    arguments.push_back(b_.CreateAlignedLoad(type, pointer_to(x.operands[k]), natural_alignment(operand)));
  }
  b_.CreateAlignedStore(b_.CreateCall(instruction, arguments), pointer_to(x.operands[written]),
                        natural_alignment(*i.operands[written].buffer));
}

}  // namespace dlcc::targets
