// one_hot: for each index a vector with one value at the index and another one elsewhere.
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct OneHotAttrs {
  std::vector<Dim> depth = {1};  // one element
  int64_t axis = -1;
  std::optional<DType> dtype;
};

// The attribute, or the operand after the values, as far as its value is known.
Checked<Dim> depth_of(const OneHotAttrs& a, const Operands& in) {
  if (in.size() > 3) {
    if (auto e = first_of({check_type(in[3], "depth", types::index), check_rank(in[3], "depth", 0)})) return *e;
    return in[3].value ? in[3].value->elements[0].value_or(unknown_dim()) : unknown_dim();
  }
  if (a.depth.size() != 1) return attribute_error(fmt::format("depth must be one number, found {}", a.depth.size()));
  if (provably_lt(a.depth[0], 1)) return attribute_error(fmt::format("depth must be positive, found {}", str(a.depth)));
  return a.depth[0];
}

TypeResult type_of_one_hot(const OneHotAttrs& a, const Operands& in) {
  const Operand &indices = in[0], &on = in[1], &off = in[2];
  const int rank = static_cast<int>(indices.shape.size()) + 1;
  const DType type = a.dtype.value_or(on.dtype);
  if (auto e = first_of({check_type(indices, "indices", types::index), check_type(on, "on_value", types::ordinary),
                         check_rank(on, "on_value", 0), check_rank(off, "off_value", 0),
                         check_same_type(on, "on_value", off, "off_value"),
                         check_type({{}, type}, "dtype", types::ordinary), check_axis("axis", a.axis, rank)}))
    return *e;
  const Checked<Dim> depth = depth_of(a, in);
  if (auto* e = std::get_if<TypeError>(&depth)) return *e;
  Shape shape = indices.shape;
  shape.insert(shape.begin() + wrap_axis(a.axis, rank), std::get<Dim>(depth));
  return tensor_result(shape, type);
}

TensorFunction define_one_hot(const OneHotAttrs& a, const Operands& in, const Shape& result) {
  Definition d("one_hot");
  const Tensor indices = d.input("indices", in[0].dtype, in[0].shape), on = d.input("on_value", in[1].dtype, {}),
               off = d.input("off_value", in[2].dtype, {});
  const auto axis = static_cast<size_t>(wrap_axis(a.axis, static_cast<int>(result.size())));
  if (in.size() > 3) {
    const Tensor depth = d.input("depth", in[3].dtype, {});
    d.require_next([=](Index) { return equal(cast(dtype::i64, scalar(depth)), Expr(result[axis])); },
                   tensor::Status::shape_mismatch);
  }
  const DType type = a.dtype.value_or(on.type());
  d.result("result", type, result, [&](Index i) {
    std::vector<Expr> at = i;
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
    const Expr selected = equal(cast(dtype::i64, indices(at)), i[axis]);
    return cast(tensor::compute_type(type), select(selected, scalar(on), scalar(off)));
  });
  return d.finish();
}

std::vector<Expr> sizes_of_one_hot(const OneHotAttrs& a, const Operands& in, const std::vector<Tensor>& values,
                                   Definition&) {
  std::vector<Expr> sizes(in[0].shape.begin(), in[0].shape.end());
  sizes.insert(sizes.begin() + wrap_axis(a.axis, static_cast<int>(sizes.size()) + 1),
               cast(dtype::i64, scalar(values[0])));
  return sizes;
}

}  // namespace

void one_hot(OperatorTable& table) {
  using A = OneHotAttrs;
  table.add<A>({
      .name = "one_hot",
      .summary = "on_value at each index along a new axis, off_value elsewhere",
      .attributes = {{"depth", &A::depth, "the size of the new axis"},
                     {"axis", &A::axis, "the new axis of the result; negative counts from the last"},
                     {"dtype", &A::dtype, "the result's element type; that of on_value if None"}},
      .arguments = {"indices", "on_value", "off_value"},
      .values = {"depth"},
      .type = type_of_one_hot,
      .compute_as = define_one_hot,
      .sizes = sizes_of_one_hot,
      .sample_shapes = {{2}, {}},
      .sample_attrs = {{"depth", 3}},
  });
}

}  // namespace dlcc::relay::ops
