// Matrix products of two tensors of bytes that are both known at run time only, such as those of attention. The second
// one is read as signed bytes, and each zero point is a correction by sums of the other tensor:
//
//   sum((x - a) * (w - b)) = sum(x * w) - b * sum(x) - a * sum(w) + K * a * b
#include <algorithm>
#include <numeric>
#include <utility>

#include "relay/passes/byte_contractions.h"
#include "tensor/byte_products.h"

namespace dlcc::relay {

namespace {

// Each of the four terms is less than 2^29 in magnitude, so that no sum of them overflows.
constexpr int64_t largest_k = (int64_t{1} << 29) / (UINT8_MAX * UINT8_MAX);

// Products of fewer rows, or of shorter ones, take less time as sums of floats: packing the second factor and adding up
// both factors take as long as the products of several rows.
constexpr int64_t least_rows = 16, least_columns = 16, least_k = 32;

Atom times(BlockRewriter& r, const Atom& a, int64_t factor) {
  return r.emit("multiply", {a, Constant::of<int32_t>(dtype::i32, {}, {static_cast<int32_t>(factor)})});
}

int64_t known_zero(const ByteData& x) { return std::get<Constant>(x.zero).integer_at(0); }

// The second factor with K as its last axis, if a transposition has moved K away from there: neighbours along K are
// packed next to each other.
void undo_transposition(BlockRewriter& r, Atom& w, bool& transposed) {
  const Call* found = transposed ? nullptr : r.call_of(w, "transpose");
  if (!found) return;
  const Atom source = found->args[0];
  const size_t rank = r.tensor(w).shape.size();
  std::vector<int64_t> axes = attributes_of<TransposeAttrs>(*found).order(static_cast<int64_t>(rank));
  if (std::cmp_not_equal(axes[rank - 2], rank - 1)) return;
  std::swap(axes[rank - 2], axes[rank - 1]);
  w = r.emit("transpose", {source}, {{"axes", axes}});
  transposed = true;
}

}  // namespace

std::optional<Atom> product_of_data(BlockRewriter& r, const std::string& name, const Call& call, ByteData x,
                                    ByteData w) {
  const MatmulAttrs attrs = attributes_of<MatmulAttrs>(call);
  bool transposed = attrs.transpose_b || name == "nn.dense";
  const Shape &rows = r.tensor(x.stored).shape, &matrix = r.tensor(w.stored).shape;
  if (attrs.transpose_a || attrs.out_dtype || rows.size() < 2 || !is_static(rows) || !is_static(matrix))
    return std::nullopt;
  const int64_t m = rows[rows.size() - 2].value(), k = rows.back().value(),
                n = matrix[matrix.size() - (transposed ? 2 : 1)].value();
  if (m < least_rows || n < least_columns || k < least_k || k > largest_k || k % tensor::least_bytes_of_product != 0)
    return std::nullopt;
  undo_transposition(r, w.stored, transposed);
  const int offset = offset_between(r.tensor(w.stored).dtype, dtype::i8);
  w.stored = with_offset(r, w.stored, dtype::i8);
  const int64_t a = known_zero(x), b = known_zero(w) + offset;
  Atom sums = r.emit("nn.batch_matmul", {x.stored, w.stored},
                     {{"transpose_b", transposed}, {"out_dtype", std::string("int32")}});
  if (b != 0) sums = r.emit("add", {sums, times(r, sum_of_bytes(r, x.stored, -1), -b)});
  if (a == 0) return sums;
  Atom columns = sum_of_bytes(r, w.stored, transposed ? -1 : -2);
  if (transposed) {
    std::vector<int64_t> axes(matrix.size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
    std::swap(axes[axes.size() - 2], axes.back());
    columns = r.emit("transpose", {columns}, {{"axes", axes}});
  }
  columns = times(r, columns, -a);
  const auto both = static_cast<int32_t>(k * a * b);
  if (both != 0) columns = r.emit("add", {columns, Constant::of<int32_t>(dtype::i32, {}, {both})});
  return r.emit("add", {sums, columns});
}

}  // namespace dlcc::relay
