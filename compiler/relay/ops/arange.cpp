// arange: the numbers from a start to a stop, every step-th. The size of the result is known if the three are known.
#include <cmath>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

// TVM repeats the operands as attributes.
struct ArangeAttrs {
  AttrValue start, stop, step;
  DType dtype = dtype::f32;
};

// The value of an operand, as far as an attribute or its value at compile time tells.
std::optional<double> known_number(const AttrValue& attribute, const Operand& operand) {
  double number = 0;
  if (detail::from_value(attribute, number)) return number;
  if (!operand.value || operand.value->elements.size() != 1) return std::nullopt;
  const std::optional<Dim>& element = operand.value->elements[0];
  if (!element || !element->is_constant()) return std::nullopt;
  return static_cast<double>(element->value());
}

TypeResult type_of_arange(const ArangeAttrs& a, const Operands& in) {
  const char* names[] = {"start", "stop", "step"};
  for (size_t k = 0; k < 3; ++k)
    if (auto e = first_of({check_type(in[k], names[k], types::number), check_rank(in[k], names[k], 0)})) return *e;
  if (auto e = check_type({{}, a.dtype}, "dtype", types::number)) return *e;
  const auto start = known_number(a.start, in[0]), stop = known_number(a.stop, in[1]),
             step = known_number(a.step, in[2]);
  if (step && *step == 0) return attribute_error("step must not be 0");
  if (!start || !stop || !step) return tensor_result({unknown_dim()}, a.dtype);
  const double count = std::max(std::ceil((*stop - *start) / *step), 0.0);
  if (!(count < 0x1p62)) return shape_error("the result has too many elements");
  return tensor_result({static_cast<int64_t>(count)}, a.dtype);
}

TensorFunction define_arange(const ArangeAttrs& a, const Operands& in, const Shape& result) {
  Definition d("arange");
  const Tensor start = d.input("start", in[0].dtype, {}), stop = d.input("stop", in[1].dtype, {}),
               step = d.input("step", in[2].dtype, {});
  auto wide = [](const Tensor& t) { return cast(dtype::f64, scalar(t)); };
  d.require_next(
      [=](Index) {
        const Expr count = max(ceil((wide(stop) - wide(start)) / wide(step)), number(dtype::f64, 0));
        return equal(count, cast(dtype::f64, Expr(result[0])));
      },
      tensor::Status::shape_mismatch);
  const bool integral = is_integer(in[0].dtype) && is_integer(in[2].dtype) && is_integer(a.dtype);
  const DType type = integral ? dtype::i64 : dtype::f64;
  d.result("result", a.dtype, result,
           [&](Index i) { return cast(type, scalar(start)) + cast(type, i[0]) * cast(type, scalar(step)); });
  return d.finish();
}

}  // namespace

void arange(OperatorTable& table) {
  using A = ArangeAttrs;
  table.add<A>({
      .name = "arange",
      .summary = "the numbers start, start + step, ... before stop",
      .attributes = {{"start", &A::start, "the operand start, if it is known"},
                     {"stop", &A::stop, "the operand stop, if it is known"},
                     {"step", &A::step, "the operand step, if it is known"},
                     {"dtype", &A::dtype, "the element type", true}},
      .arguments = {"start", "stop", "step"},
      .type = type_of_arange,
      .compute_as = define_arange,
      .sample_shapes = {{}},
      .sample_attrs = {{"start", 0}, {"stop", 3}, {"step", 1}},
  });
}

}  // namespace dlcc::relay::ops
