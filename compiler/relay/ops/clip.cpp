// clip: limits elements to an interval.
#include <cmath>

#include "relay/call_gradient.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct ClipAttrs {
  double a_min = 0, a_max = 0;
};

// The bound as an element: for integers the nearest one inside the interval that the type can hold.
Expr bound(DType type, double value, bool is_lower) {
  if (is_float(type)) return number(type, value);
  double integral = is_lower ? std::ceil(value) : std::floor(value);
  double low = is_signed(type) ? -std::ldexp(1.0, bits(type) - 1) : 0;
  double beyond = std::ldexp(1.0, is_signed(type) ? bits(type) - 1 : bits(type));  // the first value above the range
  if (integral <= low) return tensor::lowest(type);
  return integral >= beyond ? tensor::highest(type) : number(type, integral);
}

TensorFunction define_clip(const ClipAttrs& a, const Operands& in) {
  Definition d("clip");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  DType type = tensor::compute_type(x.type());
  d.result("result", x.type(), x.shape(),
           // With the literal in front, NaN stays NaN by the comparison alone.
           [&](Index i) { return min(bound(type, a.a_max, false), max(bound(type, a.a_min, true), x(i))); });
  return d.finish();
}

}  // namespace

void clip(OperatorTable& table) {
  table.add<ClipAttrs>({
      .name = "clip",
      .summary = "min(a_max, max(a_min, x)); NaN stays NaN",
      .attributes = {{"a_min", &ClipAttrs::a_min, "the smallest result", true},
                     {"a_max", &ClipAttrs::a_max, "the largest result; wins when it is less than a_min", true}},
      .arguments = {"data"},
      .type = [](const ClipAttrs& a, const Operands& in) -> TypeResult {
        if (auto e = check_type(in[0], "data", types::number)) return *e;
        if (std::isnan(a.a_min) || std::isnan(a.a_max)) return attribute_error("a_min and a_max must not be NaN");
        return tensor_result(in[0].shape, in[0].dtype);
      },
      .compute = define_clip,
      .gradient = [](const ClipAttrs&,
                     CallGradient& g) { g.add(0, where(equal(g.operand(0), g.result()), g.gradient(), 0)); },
  });
}

}  // namespace dlcc::relay::ops
