// one_hot: for each index a vector with one value at the index and another one elsewhere.
#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct OneHotAttrs {
  int64_t depth = 1, axis = -1;
  std::optional<DType> dtype;
};

Value one_hot_of(const OneHotAttrs& a, Composition& c) {
  const Value indices = c.operand(0), on = c.operand(1), off = c.operand(2);
  if (c.operand_count() > 3)
    c.fail({DiagnosticId::dynamic_shape, "the depth must be known at compile time", "make the depth a constant"});
  const DType type = a.dtype.value_or(on.dtype());
  c.require(
      first_of({check_type(indices.type, "indices", types::index), check_type(on.type, "on_value", types::ordinary),
                check_rank(on.type, "on_value", 0), check_rank(off.type, "off_value", 0),
                check_same_type(on.type, "on_value", off.type, "off_value"), check_positive("depth", {a.depth}),
                check_type({{}, type}, "dtype", types::ordinary), check_axis("axis", a.axis, indices.rank() + 1)}));
  const int axis = wrap_axis(a.axis, indices.rank() + 1);
  Shape shape = indices.shape();
  shape.insert(shape.begin() + axis, Dim(a.depth));
  return c.compute(type, shape, {indices, on, off}, [=](const std::vector<Tensor>& args, Index i) {
    std::vector<Expr> at = i;
    at.erase(at.begin() + axis);
    const Expr selected = equal(cast(dtype::i64, args[0](at)), i[static_cast<size_t>(axis)]);
    return select(selected, scalar(args[1]), scalar(args[2]));
  });
}

}  // namespace

void one_hot(OperatorTable& table) {
  using A = OneHotAttrs;
  table.add(composed<A>({.name = "one_hot",
                         .summary = "on_value at each index along a new axis, off_value elsewhere",
                         .attributes = {{"depth", &A::depth, "the size of the new axis"},
                                        {"axis", &A::axis, "the new axis of the result; negative counts from the last"},
                                        {"dtype", &A::dtype, "the result's element type; that of on_value if None"}},
                         .arguments = {"indices", "on_value", "off_value"},
                         .values = {"depth"},
                         .sample_shapes = {{2}, {}},
                         .sample_attrs = {{"depth", 3}}},
                        one_hot_of));
}

}  // namespace dlcc::relay::ops
