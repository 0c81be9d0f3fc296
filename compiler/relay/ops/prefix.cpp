// prefix: the first elements of an axis. Their number may be a value that is known when the program runs: an operator
// whose result has a data-dependent size computes the largest possible result and its actual size, and `prefix` cuts
// the result to this size.
#include "relay/op_support/gradients.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct PrefixAttrs {
  std::vector<Dim> length;
  int64_t axis = 0;
};

TypeResult type_of_prefix(const PrefixAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  const auto rank = static_cast<int64_t>(in[0].shape.size());
  if (a.axis < 0 || a.axis >= rank) return attribute_error(fmt::format("axis {} of a tensor of rank {}", a.axis, rank));
  const auto axis = static_cast<size_t>(a.axis);
  Checked<PartialList> length = list_value(in, 1, a.length, "length");
  if (auto* e = std::get_if<TypeError>(&length)) return *e;
  const PartialList& list = std::get<PartialList>(length);
  if (list.size() != 1) return shape_error(fmt::format("length must be one number, found {}", list.size()));
  if (list[0] && provably_lt(*list[0], 0))
    return out_of_range_error(fmt::format("there are no {} elements", list[0]->str()));
  if (list[0] && provably_lt(in[0].shape[axis], *list[0])) {
    TypeError error =
        shape_error(fmt::format("there are no {} elements in an axis of {}", list[0]->str(), in[0].shape[axis].str()));
    error.status = tensor::Status::capacity_exceeded;
    return error;
  }
  Shape shape = in[0].shape;
  shape[axis] = list[0].value_or(unknown_dim());
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_prefix(const PrefixAttrs& a, const Operands& in, const Shape& result) {
  Definition d("prefix");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const Dim count = result[static_cast<size_t>(a.axis)], all = x.extent(static_cast<int>(a.axis));
  if (in.size() > 1) {
    const Expr length = integer_at(d.input("length", in[1].dtype, in[1].shape), 0);
    d.require_next([=](Index) { return Expr(0) <= length; }, tensor::Status::dimension_out_of_range);
    d.require_next([=](Index) { return length <= Expr(all); }, tensor::Status::capacity_exceeded);
    d.require_next([=](Index) { return equal(length, Expr(count)); }, tensor::Status::shape_mismatch);
  } else if (!provably_le(count, all)) {
    d.require_next([&](Index) { return Expr(count) <= Expr(all); }, tensor::Status::shape_mismatch);
  }
  d.result("result", x.type(), result, [&](Index i) { return stored(x, i); });
  return d.finish();
}

}  // namespace

void prefix(OperatorTable& table) {
  table.add<PrefixAttrs>({
      .name = "prefix",
      .summary = "the first elements of an axis",
      .attributes = {{"length", &PrefixAttrs::length, "their number, as a list of one number", true},
                     {"axis", &PrefixAttrs::axis, "the axis"}},
      .arguments = {"data"},
      .values = {"length"},
      .type = type_of_prefix,
      .compute_as = define_prefix,
      .sizes =
          [](const PrefixAttrs& a, const Operands& in, const std::vector<Tensor>& v, Definition&) {
            std::vector<Expr> sizes(in[0].shape.begin(), in[0].shape.end());
            sizes[static_cast<size_t>(a.axis)] = elements_of(v[0])[0];
            return sizes;
          },
      .sizes_suffice = true,
      .largest_sizes = [](const PrefixAttrs&, const Operands& in) { return in[0].shape; },
      .gradient =
          [](const PrefixAttrs& a, CallGradient& g) {
            const auto axis = static_cast<size_t>(a.axis);
            g.add(0, g.gradient().padded(a.axis, 0, g.operands()[0].type.shape[axis] - g.result().shape()[axis]));
          },
  });
}

}  // namespace dlcc::relay::ops
