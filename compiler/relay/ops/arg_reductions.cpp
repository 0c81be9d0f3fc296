// argmax and argmin: the position of the extremum, as a reduction of pairs (value, position). NaN counts as the
// extremum, as in numpy.
#include "relay/op_support/indices.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ArgReduceAttrs {
  std::optional<std::vector<int64_t>> axis;
  bool keepdims = false, exclude = false, select_last_index = false;
  DType dtype = dtype::i32;
};

TypeResult type_of_arg_reduction(const ArgReduceAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::number),
                         check_axes("axis", a.axis.value_or(std::vector<int64_t>{}), rank)}))
    return *e;
  if (a.dtype != dtype::i32 && a.dtype != dtype::i64)
    return attribute_error(fmt::format("dtype must be \"int32\" or \"int64\", found \"{}\"", name(a.dtype)));
  std::vector<bool> reduced = reduced_axes(a.axis, a.exclude, rank);
  Dim count = product(extents_of(in[0].shape, reduced));
  if (count == Dim(0))
    return out_of_range_error(fmt::format("the reduced axes of shape {} hold no element", str(in[0].shape)));
  if (a.dtype == dtype::i32 && count.is_constant() && count.value() > INT32_MAX)
    return attribute_error(fmt::format("positions among {} elements do not fit int32", count.value()),
                           "use dtype=\"int64\"");
  return tensor_result(reduced_shape(in[0].shape, reduced, a.keepdims), a.dtype);
}

TensorFunction define(const ArgReduceAttrs& a, const Operands& in, bool largest) {
  Definition d(largest ? "argmax" : "argmin");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  DType type = tensor::compute_type(x.type());
  auto reducer = largest ? tensor::arg_max_of(type, a.dtype, a.select_last_index)
                         : tensor::arg_min_of(type, a.dtype, a.select_last_index);
  std::vector<bool> reduced = reduced_axes(a.axis, a.exclude, x.rank());
  Shape extents = extents_of(x.shape(), reduced);
  auto found = d.reduce_tuple(
      {"extremum", "result"}, shape_in(type_of_arg_reduction(a, in)), reducer, extents, [&](Index i, Index r) {
        return std::vector{x(merge_index(reduced, a.keepdims, i, r)), cast(a.dtype, flatten_index(extents, r))};
      });
  d.mark_result(found[1]);
  return d.finish();
}

// The number of elements among which each position is found.
std::vector<Dim> searched_count(const ArgReduceAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  return {product(extents_of(data, reduced_axes(a.axis, a.exclude, static_cast<int>(data.size()))))};
}

}  // namespace

void arg_reductions(OperatorTable& table) {
  using A = ArgReduceAttrs;
  std::vector<Field<A>> fields = {
      {"axis", &A::axis, "the axes to search; all if None or empty. Positions are row-major among them"},
      {"keepdims", &A::keepdims, "keep searched axes, with size 1"},
      {"exclude", &A::exclude, "search the axes that `axis` does not name"},
      {"select_last_index", &A::select_last_index, "of equal extrema the last one, not the first"},
      {"dtype", &A::dtype, "element type of the positions: int32 or int64"}};
  table.add<A>({
      .name = "argmax",
      .summary = "the position of the largest element",
      .attributes = fields,
      .arguments = {"data"},
      .type = type_of_arg_reduction,
      .compute = [](const A& a, const Operands& in) { return define(a, in, true); },
      .positive_sizes = searched_count,
  });
  table.add<A>({
      .name = "argmin",
      .summary = "the position of the smallest element",
      .attributes = fields,
      .arguments = {"data"},
      .type = type_of_arg_reduction,
      .compute = [](const A& a, const Operands& in) { return define(a, in, false); },
      .positive_sizes = searched_count,
  });
}

}  // namespace dlcc::relay::ops
