// Transpositions of tiles (tensor/tile_transpose.h) in vector registers. Elements of 32 bits: for each power of two,
// pairs of rows at that distance exchange the blocks of elements that are not on the diagonal (Eklundh, "A Fast
// Computer Method for Matrix Transposing", IEEE Transactions on Computers, 1972). Narrower elements, for which such an
// exchange takes several instructions: rows of both halves of the tile are interleaved, as often as the number of rows
// can be halved.
#include "targets/llvm/kernel_emitter.h"
#include "tensor/intrinsic.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

using Rows = std::vector<Value*>;

void exchange(llvm::IRBuilder<>& b, Rows& rows) {
  const size_t size = rows.size();
  for (size_t distance = 1; distance < size; distance *= 2)
    for (size_t k = 0; k < size; ++k) {
      if (k & distance) continue;
      std::vector<int> upper, lower;  // of elements of both rows, those of the second one numbered from `size` on
      for (size_t j = 0; j < size; ++j) {
        const bool is_second = j & distance;
        upper.push_back(static_cast<int>(is_second ? size + j - distance : j));
        lower.push_back(static_cast<int>(is_second ? size + j : j + distance));
      }
      Value *first = rows[k], *second = rows[k + distance];
      rows[k] = b.CreateShuffleVector(first, second, upper);
      rows[k + distance] = b.CreateShuffleVector(first, second, lower);
    }
}

void interleave(llvm::IRBuilder<>& b, Rows& rows) {
  const size_t size = rows.size();
  std::vector<int> low, high;  // numbered as in exchange()
  for (size_t j = 0; j < size; ++j) {
    low.push_back(static_cast<int>(j / 2 + (j % 2) * size));
    high.push_back(static_cast<int>(size / 2 + j / 2 + (j % 2) * size));
  }
  for (size_t times = 1; times < size; times *= 2) {
    Rows next;
    for (size_t k = 0; k < size / 2; ++k)
      for (const std::vector<int>& half : {low, high})
        next.push_back(b.CreateShuffleVector(rows[k], rows[k + size / 2], half));
    rows = std::move(next);
  }
}

}  // namespace

void KernelEmitter::emit_tile_transpose(const IntrinsicCall& x) {
  const size_t size = static_cast<size_t>(x.intrinsic->operands[0].buffer->shape[0].value());
  // The pointer to row `k` of a tile. A symbolic stride is added to that of the row before, since a pointer for each
  // row would take a register.
  auto row = [&](size_t operand, size_t k, Value* previous) {
    Region box = x.operands[operand];
    const size_t dim = box.begin.size() - x.intrinsic->operands[operand].buffer->shape.size();
    const Dim& stride = strides_of(*box.buffer)[dim];
    if (k > 0 && !stride.is_constant())
      return b_.CreateGEP(b_.getInt8Ty(), previous, value_of(stride * Dim(element_bytes(box.buffer->type))));
    box.begin[dim] = box.begin[dim] + Expr(static_cast<int64_t>(k));
    return pointer_to(box);
  };
  const DType element = x.operands[0].buffer->type;
  auto* type = llvm::FixedVectorType::get(storage_type(element), static_cast<unsigned>(size));
  const llvm::Align alignment(static_cast<uint64_t>(element_bytes(element)));
  Rows rows;
  Value* pointer = nullptr;
  for (size_t k = 0; k < size; ++k) rows.push_back(b_.CreateAlignedLoad(type, pointer = row(0, k, pointer), alignment));
  bits(element) < 32 ? interleave(b_, rows) : exchange(b_, rows);
  for (size_t k = 0; k < size; ++k) b_.CreateAlignedStore(rows[k], pointer = row(1, k, pointer), alignment);
}

}  // namespace dlcc::targets
