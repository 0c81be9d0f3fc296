// Elements of a table of 256 bytes at the bytes of a vector. Other gathers load one element at a time.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/byte_lookups.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

// The bytes that one instruction sequence looks up; 0 without such instructions.
unsigned width_of_lookups(const llvm::MCSubtargetInfo& cpu) {
  const llvm::Triple& triple = cpu.getTargetTriple();
  auto has = [&](const char* features) { return triple.isX86() && cpu.checkFeatures(features); };
  return has("+avx512vbmi") ? 64 : has("+avx512bw") ? 32 : triple.isAArch64() ? 16 : 0;
}

// The vector of bytes that an index is the conversion of; null if it is anything else.
Value* bytes_of_index(Value* index) {
  while (auto* sign = llvm::dyn_cast<llvm::SExtInst>(index)) {
    if (!llvm::isa<llvm::ZExtInst>(sign->getOperand(0))) return nullptr;
    index = sign->getOperand(0);
  }
  bool is_unsigned = false;
  for (; auto* zero = llvm::dyn_cast<llvm::ZExtInst>(index); is_unsigned = true) index = zero->getOperand(0);
  return is_unsigned && index->getType()->getScalarType()->isIntegerTy(8) ? index : nullptr;
}

class TableLookup {
 public:
  TableLookup(llvm::IRBuilder<>& b, Value* table) : b_(b), table_(table) {}

  // AVX-512BW: a table of 128 pairs of bytes is two of 64, from which one instruction selects. The odd byte of a pair
  // is its upper half.
  Value* by_pairs(Value* bytes) {
    auto* words = llvm::FixedVectorType::get(b_.getInt16Ty(), 32);
    auto number = [&](uint64_t value) { return llvm::ConstantInt::get(words, value); };
    Value *wide = b_.CreateZExt(bytes, words), *pair = b_.CreateLShr(wide, number(1));
    auto half = [&](int k) {
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_hi_512, {},
                                {part(words, k), pair, part(words, k + 1)});
    };
    Value* both = b_.CreateSelect(b_.CreateICmpULT(wide, number(lookup_table_entries / 2)), half(0), half(2));
    Value* shift = b_.CreateShl(b_.CreateAnd(wide, number(1)), number(3));
    return b_.CreateTrunc(b_.CreateLShr(both, shift), bytes->getType());
  }

  // AVX512-VBMI selects from 128 bytes.
  Value* by_bytes(Value* bytes) {
    auto half = [&](int k) {
      return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_qi_512, {},
                                {part(bytes->getType(), k), bytes, part(bytes->getType(), k + 1)});
    };
    Value* is_low = b_.CreateICmpSGE(bytes, llvm::Constant::getNullValue(bytes->getType()));
    return b_.CreateSelect(is_low, half(0), half(2));
  }

  // AArch64 selects from 64 bytes; an index beyond them leaves the byte as it was.
  Value* by_quarters(Value* bytes) {
    llvm::Type* type = bytes->getType();
    Value* found = nullptr;
    for (int quarter = 0; quarter < 4; ++quarter) {
      Value* index = b_.CreateSub(bytes, llvm::ConstantInt::get(type, static_cast<uint64_t>(64 * quarter)));
      std::vector<Value*> operands = {part(type, 4 * quarter), part(type, 4 * quarter + 1), part(type, 4 * quarter + 2),
                                      part(type, 4 * quarter + 3), index};
      if (found) operands.insert(operands.begin(), found);
      found = b_.CreateIntrinsic(found ? llvm::Intrinsic::aarch64_neon_tbx4 : llvm::Intrinsic::aarch64_neon_tbl4,
                                 {type}, operands);
    }
    return found;
  }

 private:
  // Vector `k` of the table.
  Value* part(llvm::Type* vector, int k) {
    const auto bytes = static_cast<int64_t>(vector->getPrimitiveSizeInBits().getFixedValue() / 8);
    Value* at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), table_, static_cast<uint64_t>(k * bytes));
    return b_.CreateAlignedLoad(vector, at, llvm::Align(1));
  }

  llvm::IRBuilder<>& b_;
  Value* table_;
};

}  // namespace

bool has_byte_lookups(const llvm::MCSubtargetInfo& cpu) { return width_of_lookups(cpu) > 0; }

Value* KernelEmitter::look_up(const Memory& memory, DType type, const Linear& offset) {
  const bool is_table =
      memory.elements == lookup_table_entries && storage_type(type)->isIntegerTy(8) && bits(type) == 8;
  const bool is_index =
      offset.varying && offset.constant == 0 && offset.lane == 0 && offset.terms.empty() && offset.lane_terms.empty();
  Value* bytes = is_table && is_index ? bytes_of_index(offset.varying) : nullptr;
  if (!bytes) return nullptr;
  const unsigned width = width_of_lookups(cpu_);
  if (width == 0) return nullptr;
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(bytes->getType())->getNumElements();
  TableLookup table(b_, memory.pointer);
  auto lanes_from = [&](Value* vector, unsigned first, unsigned count, unsigned filled) {
    std::vector<int> which(count, llvm::PoisonMaskElem);
    std::iota(which.begin(), which.begin() + filled, static_cast<int>(first));
    return b_.CreateShuffleVector(vector, which);
  };
  std::vector<Value*> results;
  for (unsigned first = 0; first < lanes; first += width) {
    Value* some = lanes_from(bytes, first, width, std::min(width, lanes - first));
    results.push_back(width == 64   ? table.by_bytes(some)
                      : width == 32 ? table.by_pairs(some)
                                    : table.by_quarters(some));
  }
  return lanes_from(llvm::concatenateVectors(b_, results), 0, lanes, lanes);
}

}  // namespace dlcc::targets
