#include "frontends/onnx/operators/split.h"

namespace dlcc::frontends::onnx {

// The data with the sum of the pieces as the size of the axis, which a run checks if it is symbolic.
static Value with_size_of_pieces(Node& n, const std::vector<int64_t>& pieces, int64_t axis) {
  const Value& x = n.in(0);
  Shape shape = x.type.shape;
  if (shape[axis].is_constant()) return x;
  shape[axis] = 0;
  for (int64_t size : pieces) shape[axis] = shape[axis] + Dim(size);
  return n.context().builder.check_sizes(x, shape, n.location());
}

Values split_into(Node& n, const std::vector<int64_t>& sizes, int64_t axis) {
  const Value x = with_size_of_pieces(n, sizes, axis);
  const int64_t extent = x.type.shape[axis].value();
  std::vector<int64_t> cuts;
  int64_t at = 0;
  bool fits = true;
  for (int64_t size : sizes) {
    fits = fits && size >= 0 && size <= extent - at;
    if (fits) cuts.push_back(at += size);
  }
  n.check(fits && at == extent, DiagnosticId::bad_attribute,
          fmt::format("the sizes [{}] do not add up to {}", fmt::join(sizes, ", "), extent));
  if (n.failed() || sizes.empty()) return {};
  if (sizes.size() == 1) return {x};
  cuts.pop_back();
  return n.call_fields("split", {x}, {{"indices_or_sections", cuts}, {"axis", axis}}, sizes.size());
}

}  // namespace dlcc::frontends::onnx
