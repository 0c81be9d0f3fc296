// full, zeros, ones, iota: tensors whose elements depend on no tensor but a scalar.
#include "relay/op_support/gradients.h"
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

struct IotaAttrs {
  std::vector<Dim> shape;
  DType dtype = dtype::f32;
  int64_t axis = 0;
};

TypeResult type_of_full(const FullAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "fill_value", types::movable), check_rank(in[0], "fill_value", 0)}))
    return *e;
  DType type = a.dtype.value_or(in[0].dtype);
  if (auto e = check_type({{}, type}, "dtype", types::movable)) return *e;
  return filled_result(in, 1, a.shape, type);
}

TensorFunction define_full(const FullAttrs& a, const Operands& in, const Shape& result) {
  Definition d("full");
  Tensor value = d.input("fill_value", in[0].dtype, in[0].shape);
  DType type = a.dtype.value_or(value.type());
  require_shape_next(d, in, 1, result);
  d.result("result", type, result, [&](Index) { return type == value.type() ? stored(value, {}) : scalar(value); });
  return d.finish();
}

TypeResult type_of_iota(const IotaAttrs& a, const Operands& in) {
  if (auto e = check_type({{}, a.dtype}, "dtype", types::number)) return *e;
  TypeResult type = filled_result(in, 0, a.shape, a.dtype);
  if (std::holds_alternative<TypeError>(type)) return type;
  if (auto e = check_axis("axis", a.axis, static_cast<int>(shape_in(type).size()))) return *e;
  return type;
}

TensorFunction define_iota(const IotaAttrs& a, const Operands& in, const Shape& result) {
  Definition d("iota");
  require_shape_next(d, in, 0, result);
  const auto axis = static_cast<size_t>(wrap_axis(a.axis, static_cast<int>(result.size())));
  d.result("result", a.dtype, result, [&](Index i) { return cast(tensor::compute_type(a.dtype), i[axis]); });
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
        return filled_result(in, 0, a.shape, a.dtype);
      },
      .compute_as =
          [name, value](const FilledAttrs& a, const Operands& in, const Shape& result) {
            Definition d(name);
            require_shape_next(d, in, 0, result);
            d.result("result", a.dtype, result, [&](Index) { return number(tensor::compute_type(a.dtype), value); });
            return d.finish();
          },
      .sizes = [](const FilledAttrs&, const Operands&, const std::vector<Tensor>& v,
                  Definition&) { return elements_of(v[0]); },
      .sizes_suffice = true,
  });
}

// zeros_like, ones_like: of the shape and the element type of an operand, whose elements are not read.
void add_filled_like(OperatorTable& table, const char* name, double value) {
  table.add<NoAttrs>({
      .name = name,
      .summary = fmt::format("{} of the data's shape and element type", value == 0 ? "zeros" : "ones"),
      .attributes = {},
      .arguments = {"data"},
      .type = [](const NoAttrs&, const Operands& in) -> TypeResult {
        if (auto e = check_type(in[0], "data", types::ordinary)) return *e;
        return tensor_result(in[0].shape, in[0].dtype);
      },
      .compute =
          [name, value](const NoAttrs&, const Operands& in) {
            Definition d(name);
            Tensor x = d.input("data", in[0].dtype, in[0].shape);
            d.result("result", x.type(), x.shape(),
                     [&](Index) { return number(tensor::compute_type(x.type()), value); });
            return d.finish();
          },
      .gradient = gradient_of_constant,
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
      .sizes = [](const FullAttrs&, const Operands&, const std::vector<Tensor>& v,
                  Definition&) { return elements_of(v[0]); },
      .sizes_suffice = true,
      .gradient = [](const FullAttrs&, CallGradient& g) { g.add(0, g.gradient()); },
  });
  table.add<IotaAttrs>({
      .name = "iota",
      .summary = "a tensor whose elements are their own positions along one axis",
      .attributes = {{"shape", &IotaAttrs::shape, "the result's shape", true},
                     {"dtype", &IotaAttrs::dtype, "the element type", true},
                     {"axis", &IotaAttrs::axis, "the axis; negative counts from the last"}},
      .arguments = {},
      .values = {"shape"},
      .type = type_of_iota,
      .compute_as = define_iota,
      .sizes = [](const IotaAttrs&, const Operands&, const std::vector<Tensor>& v,
                  Definition&) { return elements_of(v[0]); },
      .sizes_suffice = true,
  });
  add_filled(table, "zeros", 0);
  add_filled(table, "ones", 1);
  add_filled_like(table, "zeros_like", 0);
  add_filled_like(table, "ones_like", 1);
}

}  // namespace dlcc::relay::ops
