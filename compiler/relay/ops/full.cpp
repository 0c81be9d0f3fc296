// full, zeros, ones: tensors of one value.
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct FullAttrs {
  std::vector<Dim> shape;
  std::optional<DType> dtype;
};
struct FilledAttrs {
  std::vector<Dim> shape;
  DType dtype = dtype::f32;
};

// The type of a tensor whose sizes are an attribute or operand `k`.
TypeResult filled(const Operands& in, size_t k, const std::vector<Dim>& attribute, DType type) {
  Checked<PartialList> sizes = list_value(in, k, attribute, "shape");
  if (auto* e = std::get_if<TypeError>(&sizes)) return *e;
  Shape shape;
  for (const auto& size : std::get<PartialList>(sizes)) shape.push_back(size.value_or(unknown_dim()));
  return tensor_result(shape, type);
}

// Requires of the next stage that the operand `shape`, if the call has operand `k`, is the result's shape.
void require_shape_next(Definition& d, const Operands& in, size_t k, const Shape& result) {
  if (k >= in.size()) return;
  Tensor sizes = d.input("shape", in[k].dtype, in[k].shape);
  d.require_next(
      [=](Index) {
        std::vector<Expr> same;
        for (size_t j = 0; j < result.size(); ++j)
          same.push_back(equal(integer_at(sizes, static_cast<int64_t>(j)), Expr(result[j])));
        return all_of(same);
      },
      tensor::Status::shape_mismatch);
}

TypeResult type_of_full(const FullAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "fill_value", types::movable), check_rank(in[0], "fill_value", 0)}))
    return *e;
  DType type = a.dtype.value_or(in[0].dtype);
  if (auto e = check_type({{}, type}, "dtype", types::movable)) return *e;
  return filled(in, 1, a.shape, type);
}

TensorFunction define_full(const FullAttrs& a, const Operands& in, const Shape& result) {
  Definition d("full");
  Tensor value = d.input("fill_value", in[0].dtype, in[0].shape);
  DType type = a.dtype.value_or(value.type());
  require_shape_next(d, in, 1, result);
  d.result("result", type, result, [&](Index) { return type == value.type() ? stored(value, {}) : scalar(value); });
  return d.finish();
}

void add_filled(OperatorTable& table, const char* name, double value) {
  table.add<FilledAttrs>({
      .name = name,
      .summary = fmt::format("a tensor whose elements are {}", value),
      .attributes = {{"shape", &FilledAttrs::shape, "the result's shape", true},
                     {"dtype", &FilledAttrs::dtype, "the element type", true}},
      .arguments = {},
      .values = {"shape"},
      .type = [](const FilledAttrs& a, const Operands& in) -> TypeResult {
        if (auto e = check_type({{}, a.dtype}, "dtype", types::ordinary)) return *e;
        return filled(in, 0, a.shape, a.dtype);
      },
      .compute_as =
          [name, value](const FilledAttrs& a, const Operands& in, const Shape& result) {
            Definition d(name);
            require_shape_next(d, in, 0, result);
            d.result("result", a.dtype, result, [&](Index) { return number(tensor::compute_type(a.dtype), value); });
            return d.finish();
          },
  });
}

}  // namespace

void full(OperatorTable& table) {
  table.add<FullAttrs>({
      .name = "full",
      .summary = "a tensor whose elements are all the given scalar",
      .attributes = {{"shape", &FullAttrs::shape, "the result's shape", true},
                     {"dtype", &FullAttrs::dtype, "the element type; the scalar's if None"}},
      .arguments = {"fill_value"},
      .values = {"shape"},
      .type = type_of_full,
      .compute_as = define_full,
  });
  add_filled(table, "zeros", 0);
  add_filled(table, "ones", 1);
}

}  // namespace dlcc::relay::ops
