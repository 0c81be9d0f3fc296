// prefix: the first elements of the outermost axis. Their number may be a value that is known when the program runs:
// operators of results whose size data decide compute the largest result and its size, and `prefix` is the rest.
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct PrefixAttrs {
  std::vector<Dim> length;
};

TypeResult type_of_prefix(const PrefixAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  if (in[0].shape.empty()) return shape_error("data must have an axis");
  Checked<PartialList> length = list_value(in, 1, a.length, "length");
  if (auto* e = std::get_if<TypeError>(&length)) return *e;
  const PartialList& list = std::get<PartialList>(length);
  if (list.size() != 1) return shape_error(fmt::format("length must be one number, found {}", list.size()));
  if (list[0] && (provably_lt(in[0].shape[0], *list[0]) || provably_lt(*list[0], 0)))
    return shape_error(fmt::format("there are no {} elements in an axis of {}", list[0]->str(), in[0].shape[0].str()));
  Shape shape = in[0].shape;
  shape[0] = list[0].value_or(unknown_dim());
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_prefix(const PrefixAttrs&, const Operands& in, const Shape& result) {
  Definition d("prefix");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  if (in.size() > 1) {
    Tensor length = d.input("length", in[1].dtype, in[1].shape);
    d.require_next(
        [=](Index) {
          return logical_and(equal(integer_at(length, 0), Expr(result[0])), Expr(result[0]) <= Expr(x.extent(0)));
        },
        tensor::Status::shape_mismatch);
  } else if (!provably_le(result[0], x.extent(0))) {
    d.require_next([&](Index) { return Expr(result[0]) <= Expr(x.extent(0)); }, tensor::Status::shape_mismatch);
  }
  d.result("result", x.type(), result, [&](Index i) { return stored(x, i); });
  return d.finish();
}

}  // namespace

void prefix(OperatorTable& table) {
  table.add<PrefixAttrs>({
      .name = "prefix",
      .summary = "the first elements of the outermost axis",
      .attributes = {{"length", &PrefixAttrs::length, "their number, as a list of one number", true}},
      .arguments = {"data"},
      .values = {"length"},
      .type = type_of_prefix,
      .compute_as = define_prefix,
      .sizes =
          [](const PrefixAttrs&, const Operands& in, const std::vector<Tensor>& v) {
            std::vector<Expr> sizes = elements_of(v[0]);
            for (size_t k = 1; k < in[0].shape.size(); ++k) sizes.emplace_back(in[0].shape[k]);
            return sizes;
          },
      .sizes_suffice = true,
      .largest_sizes = [](const PrefixAttrs&, const Operands& in) { return in[0].shape; },
  });
}

}  // namespace dlcc::relay::ops
