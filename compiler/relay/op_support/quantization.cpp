// Elements and shapes of scales and zero points.
#include "relay/op_support/quantization.h"

#include <algorithm>

namespace dlcc::relay {

bool is_single(const Shape& scale) { return scale.empty() || (scale.size() == 1 && scale[0] == Dim(1)); }

Failure check_granularity(const Shape& data, const TensorType& scale, const char* what, int64_t axis,
                          int64_t block_size) {
  if (is_single(scale.shape)) return std::nullopt;
  const int rank = static_cast<int>(data.size());
  if (auto e = check_axis("axis", axis, rank)) return e;
  const int k = wrap_axis(axis, rank);
  if (block_size == 0) {
    if (auto e = check_rank(scale, what, 1)) return e;
    return check_equal(scale.shape[0], fmt::format("the number of elements of {}", what), data[k],
                       fmt::format("the size of axis {}", k));
  }
  if (auto e = first_of({check_positive("block_size", {block_size}), check_rank(scale, what, rank)})) return e;
  for (int j = 0; j < rank; ++j) {
    Dim expected = data[j];
    if (j == k) {
      const int64_t block = std::min(block_size, std::max<int64_t>(data[j].constant().value_or(block_size), 1));
      expected = floor_div(data[j] + Dim(block - 1), block);
    }
    if (auto e = check_equal(scale.shape[j], fmt::format("axis {} of {}", j, what), expected,
                             fmt::format("that of the data in blocks of {}", block_size)))
      return e;
  }
  return std::nullopt;
}

Expr parameter_at(const Tensor& p, Index i, int64_t axis, int64_t block_size) {
  if (p.shape().empty()) return p(std::vector<Expr>{});
  if (is_single(p.shape())) return p(Expr(0));
  const int k = wrap_axis(axis, static_cast<int>(i.size()));
  if (block_size == 0) return p(i[k]);
  std::vector<Expr> at = i;
  at[k] = floor_div(i[k], Expr(block_size));
  return p(at);
}

Expr clipped_to(DType type, Expr value) {
  DLCC_CHECK(bits(type) <= 32, "the range of {} has no exact bounds", name(type));
  const auto [low, high] = integer_limits(type);
  auto bound = [&](int64_t limit) { return number(value.type(), static_cast<double>(limit)); };
  return max(min(value, bound(high)), bound(low));
}

}  // namespace dlcc::relay
