// Transpositions of tiles (tensor/tile_transpose.h) in vector registers: for each power of two, pairs of rows at that
// distance exchange the blocks of elements that are not on the diagonal (Eklundh, "A Fast Computer Method for Matrix
// Transposing", IEEE Transactions on Computers, 1972).
#include "targets/llvm/kernel_emitter.h"
#include "tensor/intrinsic.h"

namespace dlcc::targets {

using namespace tensor;

void KernelEmitter::emit_tile_transpose(const IntrinsicCall& x) {
  const size_t size = static_cast<size_t>(x.intrinsic->operands[0].buffer->shape[0].value());
  auto row = [&](size_t operand, size_t k) {
    Region box = x.operands[operand];
    const size_t dim = box.begin.size() - x.intrinsic->operands[operand].buffer->shape.size();
    box.begin[dim] = box.begin[dim] + Expr(static_cast<int64_t>(k));
    return pointer_to(box);
  };
  auto* type = llvm::FixedVectorType::get(storage_type(x.operands[0].buffer->type), static_cast<unsigned>(size));
  std::vector<Value*> rows;
  for (size_t k = 0; k < size; ++k) rows.push_back(b_.CreateAlignedLoad(type, row(0, k), llvm::Align(4)));
  for (size_t distance = 1; distance < size; distance *= 2)
    for (size_t k = 0; k < size; ++k) {
      if (k & distance) continue;
      std::vector<int> upper, lower;  // of elements of both rows, those of the second one numbered from `size` on
      for (size_t j = 0; j < size; ++j) {
        const bool is_second = j & distance;
        upper.push_back(static_cast<int>(is_second ? size + j - distance : j));
        lower.push_back(static_cast<int>(is_second ? size + j : j + distance));
      }
      Value *a = rows[k], *b = rows[k + distance];
      rows[k] = b_.CreateShuffleVector(a, b, upper);
      rows[k + distance] = b_.CreateShuffleVector(a, b, lower);
    }
  for (size_t k = 0; k < size; ++k) b_.CreateAlignedStore(rows[k], row(1, k), llvm::Align(4));
}

}  // namespace dlcc::targets
