// full, zeros, ones: tensors of one value.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

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

TypeResult type_of_full(const FullAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "fill_value", types::movable), check_rank(in[0], "fill_value", 0)}))
    return *e;
  DType type = a.dtype.value_or(in[0].dtype);
  if (auto e = check_type({{}, type}, "dtype", types::movable)) return *e;
  return tensor_result(a.shape, type);
}

TensorFunction define_full(const FullAttrs& a, const Operands& in) {
  Definition d("full");
  Tensor value = d.input("fill_value", in[0].dtype, in[0].shape);
  DType type = a.dtype.value_or(value.type());
  d.result("result", type, a.shape, [&](Index) { return type == value.type() ? stored(value, {}) : scalar(value); });
  return d.finish();
}

void add_filled(OperatorTable& table, const char* name, double value) {
  table.add<FilledAttrs>({
      .name = name,
      .summary = fmt::format("a tensor whose elements are {}", value),
      .attributes = {{"shape", &FilledAttrs::shape, "the result's shape", true},
                     {"dtype", &FilledAttrs::dtype, "the element type", true}},
      .arguments = {},
      .type = [](const FilledAttrs& a, const Operands&) -> TypeResult {
        if (auto e = check_type({{}, a.dtype}, "dtype", types::ordinary)) return *e;
        return tensor_result(a.shape, a.dtype);
      },
      .compute =
          [name, value](const FilledAttrs& a, const Operands&) {
            Definition d(name);
            d.result("result", a.dtype, a.shape, [&](Index) { return number(tensor::compute_type(a.dtype), value); });
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
      .type = type_of_full,
      .compute = define_full,
  });
  add_filled(table, "zeros", 0);
  add_filled(table, "ones", 1);
}

}  // namespace dlcc::relay::ops
