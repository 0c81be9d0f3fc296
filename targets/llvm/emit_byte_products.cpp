// Dot products of bytes (tensor/byte_products.h) as instructions. On x86: `vpdpbusd` on CPUs with VNNI; else two
// multiplications of 16-bit numbers, `pmaddwd`, for the even and the odd bytes of each lane; the data may be widened
// already. These never saturate, as `pmaddubsw` would: 2 * 255 * 128 exceeds 16 bits. On ARM with the DSP extension:
// `smlad` for the even and the odd bytes, which `uxtb16` and `sxtb16` widen; tiles share the widened bytes, as LLVM
// finds equal expressions; with Helium, `vmladava` for sixteen products. On AArch64: `usdot` on CPUs with i8mm, `sdot`
// on those with dotprod; else products of 16 bits, `smull` or `mul`, and `sadalp`, which adds neighbours to 32 bits. On
// all other CPUs, the body of the intrinsic is emitted: a multiplication for each pair of bytes.
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsARM.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/byte_products.h"
#include "tensor/intrinsic.h"
#include "tensor/word_products.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

enum class Instruction : uint8_t { none, vpdpbusd, pmaddwd };

using InstructionAndId = std::pair<Instruction, llvm::Intrinsic::ID>;

// `pmaddwd` for vectors of `vector_bits` bits, and LLVM's intrinsic for it.
InstructionAndId pmaddwd_for(int64_t vector_bits, const llvm::MCSubtargetInfo& cpu) {
  auto has = [&](const char* features) { return cpu.checkFeatures(features); };
  if (vector_bits == 512 && has("+avx512bw")) return {Instruction::pmaddwd, llvm::Intrinsic::x86_avx512_pmaddw_d_512};
  if (vector_bits == 256 && has("+avx2")) return {Instruction::pmaddwd, llvm::Intrinsic::x86_avx2_pmadd_wd};
  if (vector_bits == 128 && has("+sse2")) return {Instruction::pmaddwd, llvm::Intrinsic::x86_sse2_pmadd_wd};
  return {Instruction::none, llvm::Intrinsic::not_intrinsic};
}

// The best instruction for vectors of `vector_bits` bits.
InstructionAndId instruction_for(int64_t vector_bits, const llvm::MCSubtargetInfo& cpu) {
  auto has = [&](const char* features) { return cpu.checkFeatures(features); };
  const bool vnni = has("+avx512vnni,+avx512vl") || has("+avxvnni");
  if (vector_bits == 512 && has("+avx512vnni"))
    return {Instruction::vpdpbusd, llvm::Intrinsic::x86_avx512_vpdpbusd_512};
  if (vector_bits == 256 && vnni) return {Instruction::vpdpbusd, llvm::Intrinsic::x86_avx512_vpdpbusd_256};
  if (vector_bits == 128 && vnni) return {Instruction::vpdpbusd, llvm::Intrinsic::x86_avx512_vpdpbusd_128};
  return pmaddwd_for(vector_bits, cpu);
}

// The bytes at these indices, by one instruction. LLVM keeps it as it is; of a shuffle, it would make several.
Value* bytes_at(llvm::IRBuilder<>& b, Value* vector, llvm::ArrayRef<uint8_t> indices) {
  Value* table = b.CreateBitCast(vector, llvm::FixedVectorType::get(b.getInt8Ty(), 16));
  return b.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_tbl1, {table->getType()},
                           {table, llvm::ConstantDataVector::get(b.getContext(), indices)});
}

// The sums of four lanes plus the products of the first two, then of the last two bytes of each lane, on AArch64
// without dot products. A product has 16 bits at most, and sums of two have 32. Half a vector has the first two bytes
// of all lanes, so that one instruction multiplies them.
Value* add_in_pairs(llvm::IRBuilder<>& b, Value* sum, Value* data, Value* weights, bool is_signed) {
  data = bytes_at(b, data, {0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3});
  weights = bytes_at(b, weights, {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15});
  auto* products = llvm::FixedVectorType::get(b.getInt16Ty(), 8);
  for (const int first : {0, 8}) {
    const int half[] = {first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7};
    Value* product = b.CreateMul(b.CreateIntCast(b.CreateShuffleVector(data, half), products, is_signed),
                                 b.CreateSExt(b.CreateShuffleVector(weights, half), products));
    sum = b.CreateAdd(sum,
                      b.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_saddlp, {sum->getType(), products}, {product}));
  }
  return sum;
}

}  // namespace

bool KernelEmitter::emit_byte_products(const IntrinsicCall& x) {
  const llvm::Triple triple(function_->getParent()->getTargetTriple());
  if (triple.isX86()) return emit_byte_products_x86(x);
  if (triple.isAArch64()) return emit_byte_products_aarch64(x);
  return triple.isThumb() && emit_byte_products_arm(x);
}

KernelEmitter::ByteProductOperands KernelEmitter::byte_product_operands(const IntrinsicCall& x) {
  const auto lanes = static_cast<unsigned>(x.intrinsic->operands[2].buffer->shape[0].value());
  auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
  Value* four = b_.CreateAlignedLoad(b_.getInt32Ty(), pointer_to(x.operands[0]), llvm::Align(1));
  Value* to = pointer_to(x.operands[2]);
  return {b_.CreateVectorSplat(lanes, four), b_.CreateAlignedLoad(words, pointer_to(x.operands[1]), llvm::Align(1)), to,
          b_.CreateAlignedLoad(words, to, llvm::Align(4))};
}

bool KernelEmitter::emit_byte_products_aarch64(const IntrinsicCall& x) {
  const DType data_type = x.intrinsic->operands[0].buffer->type;
  if (x.intrinsic->operands[2].buffer->shape[0] != Dim(4) || !is_byte(data_type)) return false;
  const bool is_signed = data_type == dtype::i8;
  const ByteProductOperands o = byte_product_operands(x);
  auto* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), 16);
  auto dot = [&](llvm::Intrinsic::ID id, Value* sum, Value* data) -> Value* {
    return b_.CreateIntrinsic(id, {sum->getType(), bytes},
                              {sum, b_.CreateBitCast(data, bytes), b_.CreateBitCast(o.weights, bytes)});
  };
  Value* sum = nullptr;
  if (!is_signed && cpu_.checkFeatures("+i8mm")) {
    sum = dot(llvm::Intrinsic::aarch64_neon_usdot, o.sum, o.data);
  } else if (cpu_.checkFeatures("+dotprod")) {
    const llvm::Intrinsic::ID sdot = llvm::Intrinsic::aarch64_neon_sdot;
    // Unsigned data is signed data plus 128. The rows of a tile share the products of the weights with -128.
    Value* offset = b_.CreateBitCast(llvm::ConstantInt::get(bytes, 128), o.data->getType());
    sum = dot(sdot, o.sum, is_signed ? o.data : b_.CreateXor(o.data, offset));
    if (!is_signed) sum = b_.CreateSub(sum, dot(sdot, llvm::Constant::getNullValue(o.sum->getType()), offset));
  } else {
    sum = add_in_pairs(b_, o.sum, o.data, o.weights, is_signed);
  }
  b_.CreateAlignedStore(sum, o.to, llvm::Align(4));
  return true;
}

bool KernelEmitter::emit_byte_products_arm(const IntrinsicCall& x) {
  const BufferNode& data_operand = *x.intrinsic->operands[0].buffer;
  if (x.intrinsic->operands[2].buffer->shape[0] != Dim(1)) return false;
  const bool is_signed = data_operand.type == dtype::i8;
  if (data_operand.shape[0] != Dim(least_bytes_of_product)) return is_signed && emit_vmladava(x);
  if (!cpu_.checkFeatures("+dsp")) return false;
  llvm::Module& module = *function_->getParent();
  auto call = [&](llvm::Intrinsic::ID id, std::initializer_list<Value*> operands) {
    return b_.CreateCall(llvm::Intrinsic::getDeclaration(&module, id), std::vector<Value*>(operands));
  };
  auto four = [&](size_t operand) {
    return b_.CreateAlignedLoad(b_.getInt32Ty(), pointer_to(x.operands[operand]), llvm::Align(1));
  };
  // The bytes 1 and 3 in place of the bytes 0 and 2.
  auto odd = [&](Value* v) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fshr, {v->getType()}, {v, v, b_.getInt32(8)});
  };
  Value *data = four(0), *weights = four(1), *to = pointer_to(x.operands[2]);
  Value* sum = b_.CreateAlignedLoad(b_.getInt32Ty(), to, llvm::Align(4));
  const llvm::Intrinsic::ID extend = is_signed ? llvm::Intrinsic::arm_sxtb16 : llvm::Intrinsic::arm_uxtb16;
  sum = call(llvm::Intrinsic::arm_smlad, {call(extend, {data}), call(llvm::Intrinsic::arm_sxtb16, {weights}), sum});
  sum = call(llvm::Intrinsic::arm_smlad,
             {call(extend, {odd(data)}), call(llvm::Intrinsic::arm_sxtb16, {odd(weights)}), sum});
  b_.CreateAlignedStore(sum, to, llvm::Align(4));
  return true;
}

// Sixteen products of signed bytes, whose sum is added to a general register.
bool KernelEmitter::emit_vmladava(const IntrinsicCall& x) {
  if (!cpu_.checkFeatures("+mve")) return false;
  auto* bytes = llvm::FixedVectorType::get(b_.getInt8Ty(), 16);
  auto sixteen = [&](size_t operand) -> Value* {
    return b_.CreateAlignedLoad(bytes, pointer_to(x.operands[operand]), llvm::Align(1));
  };
  Value *data = sixteen(0), *weights = sixteen(1), *to = pointer_to(x.operands[2]);
  Value* sum = b_.CreateAlignedLoad(b_.getInt32Ty(), to, llvm::Align(4));
  // Signed bytes; the products neither subtracted nor exchanged.
  Value* no = b_.getInt32(0);
  sum = b_.CreateIntrinsic(llvm::Intrinsic::arm_mve_vmldava, {bytes}, {no, no, no, sum, data, weights});
  b_.CreateAlignedStore(sum, to, llvm::Align(4));
  return true;
}

// Two or three instructions on little-endian targets: the low and the high byte of each 16-bit number.
void KernelEmitter::emit_widened_bytes(const IntrinsicCall& x) {
  const auto half = static_cast<unsigned>(x.intrinsic->operands[1].buffer->shape[1].value());
  auto* words = llvm::FixedVectorType::get(b_.getInt16Ty(), half);
  auto constant = [&](uint64_t value) { return llvm::ConstantInt::get(words, value); };
  Value* pairs = b_.CreateAlignedLoad(words, pointer_to(x.operands[0]), llvm::Align(1));
  Value* to = pointer_to(x.operands[1]);
  const bool is_signed = x.intrinsic->operands[0].buffer->type == dtype::i8;
  Value* even =
      is_signed ? b_.CreateAShr(b_.CreateShl(pairs, constant(8)), constant(8)) : b_.CreateAnd(pairs, constant(0xFF));
  Value* odd = is_signed ? b_.CreateAShr(pairs, constant(8)) : b_.CreateLShr(pairs, constant(8));
  b_.CreateAlignedStore(even, to, llvm::Align(2));
  b_.CreateAlignedStore(odd, b_.CreateConstGEP1_64(words, to, 1), llvm::Align(2));
}

// Products of words that are in memory: of the even and the odd ones of one operand, or of the sums of the one
// operand's even ones and the other's odd ones. On x86, one instruction multiplies them and adds neighbours.
void KernelEmitter::emit_word_products(const IntrinsicCall& x) {
  const Region& accumulators = x.operands.back();
  const int64_t lanes = x.intrinsic->operands.back().buffer->shape[0].value();
  auto* words = llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * lanes));
  auto* sums = llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(lanes));
  // The even words (half 0) or the odd ones (half 1), which follow them.
  auto vector = [&](const Region& box, uint64_t half) -> Value* {
    return b_.CreateAlignedLoad(words, b_.CreateConstGEP1_64(words, pointer_to(box), half), llvm::Align(2));
  };
  auto pair_in_all_lanes = [&](const Region& box, uint64_t half) {
    Value* pair = b_.CreateConstGEP1_64(b_.getInt16Ty(), pointer_to(box), half * widened_half);
    Value* word = b_.CreateAlignedLoad(b_.getInt32Ty(), pair, llvm::Align(2));
    return b_.CreateBitCast(b_.CreateVectorSplat(static_cast<unsigned>(lanes), word), words);
  };
  Value *a = nullptr, *b = nullptr;
  if (x.operands.size() == 2) {
    a = vector(x.operands[0], 0), b = vector(x.operands[0], 1);
  } else {
    a = b_.CreateAdd(pair_in_all_lanes(x.operands[0], 0), vector(x.operands[1], 1));
    b = b_.CreateAdd(pair_in_all_lanes(x.operands[0], 1), vector(x.operands[1], 0));
  }
  Value* to = pointer_to(accumulators);
  Value* sum = b_.CreateAlignedLoad(sums, to, llvm::Align(4));
  b_.CreateAlignedStore(b_.CreateAdd(sum, products_of_pairs(a, b)), to, llvm::Align(4));
}

// The products of signed words, those of two neighbours added: half as many 32-bit numbers.
Value* KernelEmitter::products_of_pairs(Value* a, Value* b) {
  llvm::Module& module = *function_->getParent();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements() / 2;
  if (llvm::Triple(module.getTargetTriple()).isX86())
    if (auto [instruction, id] = pmaddwd_for(lanes * 32, cpu_); instruction == Instruction::pmaddwd)
      return b_.CreateCall(llvm::Intrinsic::getDeclaration(&module, id), {a, b});
  auto* wide = llvm::FixedVectorType::get(b_.getInt32Ty(), 2 * lanes);
  Value* products = b_.CreateMul(b_.CreateSExt(a, wide), b_.CreateSExt(b, wide));
  std::vector<int> even, odd;
  for (int lane = 0; std::cmp_less(lane, lanes); ++lane) even.push_back(2 * lane), odd.push_back(2 * lane + 1);
  return b_.CreateAdd(b_.CreateShuffleVector(products, even), b_.CreateShuffleVector(products, odd));
}

bool KernelEmitter::emit_byte_products_x86(const IntrinsicCall& x) {
  llvm::Module& module = *function_->getParent();
  const int64_t lanes = x.intrinsic->operands[2].buffer->shape[0].value();
  auto [instruction, id] = instruction_for(lanes * 32, cpu_);
  if (instruction == Instruction::none) return false;
  llvm::Function* multiply = llvm::Intrinsic::getDeclaration(&module, id);
  auto* halves = llvm::FixedVectorType::get(b_.getInt16Ty(), static_cast<unsigned>(2 * lanes));

  const bool is_widened = x.intrinsic->operands[0].buffer->type == dtype::u16;
  if (is_widened && instruction != Instruction::pmaddwd) return false;
  auto [data, weights, to, sum] = byte_product_operands(x);
  if (instruction == Instruction::vpdpbusd) {
    sum = b_.CreateCall(multiply, {sum, data, weights});
  } else {
    auto constant = [&](uint64_t value) { return llvm::ConstantInt::get(halves, value); };
    data = b_.CreateBitCast(data, halves), weights = b_.CreateBitCast(weights, halves);
    Value *even = data, *odd = nullptr;
    if (is_widened) {
      Value* second = b_.CreateConstGEP1_64(b_.getInt16Ty(), pointer_to(x.operands[0]), widened_half);
      Value* two = b_.CreateAlignedLoad(b_.getInt32Ty(), second, llvm::Align(4));
      odd = b_.CreateBitCast(b_.CreateVectorSplat(static_cast<unsigned>(lanes), two), halves);
    } else {
      even = b_.CreateAnd(data, constant(0xFF)), odd = b_.CreateLShr(data, constant(8));
    }
    even = b_.CreateCall(multiply, {even, b_.CreateAShr(b_.CreateShl(weights, constant(8)), constant(8))});
    odd = b_.CreateCall(multiply, {odd, b_.CreateAShr(weights, constant(8))});
    sum = b_.CreateAdd(sum, b_.CreateAdd(even, odd));
  }
  b_.CreateAlignedStore(sum, to, llvm::Align(4));
  return true;
}

}  // namespace dlcc::targets
