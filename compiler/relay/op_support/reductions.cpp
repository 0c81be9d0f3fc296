// Shapes, indices and definitions of reductions.
#include "relay/op_support/reductions.h"

#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

std::vector<bool> reduced_axes(const std::optional<std::vector<int64_t>>& axes, bool exclude, int rank) {
  if (!axes || axes->empty()) return std::vector<bool>(static_cast<size_t>(rank), true);
  std::vector<bool> mask = axis_mask(*axes, rank);
  if (exclude) mask.flip();
  return mask;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keepdims) {
  Shape result;
  for (size_t k = 0; k < shape.size(); ++k)
    if (!reduced[k] || keepdims) result.push_back(reduced[k] ? Dim(1) : shape[k]);
  return result;
}

Shape extents_of(const Shape& shape, const std::vector<bool>& marked) {
  Shape result;
  for (size_t k = 0; k < shape.size(); ++k)
    if (marked[k]) result.push_back(shape[k]);
  return result;
}

std::vector<Expr> merge_index(const std::vector<bool>& reduced, bool keepdims, Index kept, Index reduced_index) {
  std::vector<Expr> index;
  size_t next_kept = 0, next_reduced = 0;
  for (bool is_reduced : reduced) {
    index.push_back(is_reduced ? reduced_index[next_reduced++] : kept[next_kept]);
    if (!is_reduced || keepdims) ++next_kept;
  }
  return index;
}

Expr size_as(DType type, const Shape& shape) {
  Dim count = product(shape);
  return count.is_constant() ? tensor::literal(type, count.value()) : cast(type, Expr(count));
}

DType mean_type(DType type) {
  if (is_integer(type)) return is_signed(type) ? dtype::i64 : dtype::u64;
  return tensor::compute_type(type);
}

void define_reduction(Definition& d, const Tensor& x, const std::vector<bool>& reduced, bool keepdims,
                      const tensor::Reducer& reducer, bool divide) {
  Shape shape = reduced_shape(x.shape(), reduced, keepdims), extents = extents_of(x.shape(), reduced);
  if (extents.empty()) {
    d.result("result", x.type(), shape, [&](Index i) { return stored(x, i); });
    return;
  }
  DType inner = reducer.left[0]->type;
  auto element = [&](Index i, Index r) { return cast(inner, x(merge_index(reduced, keepdims, i, r))); };
  if (!divide) {
    d.reduce_result("result", x.type(), shape, reducer, extents, element);
    return;
  }
  Tensor total = d.reduce("total", shape, reducer, extents, element);
  d.result("result", x.type(), shape, [&](Index i) { return total(i) / size_as(inner, extents); });
}

}  // namespace dlcc::relay
