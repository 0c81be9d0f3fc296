// fixed_point_multiply: multiplies integers by a constant in fixed point.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct FixedPointMultiplyAttrs {
  int64_t multiplier = 0, shift = 0;
};

constexpr int64_t fraction_bits = 31;  // of the multiplier

TypeResult type_of_multiply(const FixedPointMultiplyAttrs& a, const Operands& in) {
  if (in[0].dtype != dtype::i32)
    return TypeError{DiagnosticId::type_mismatch, fmt::format("data must be int32, found {}", name(in[0].dtype)),
                     "convert it with cast(%x, dtype=\"int32\")"};
  if (a.multiplier < 0 || a.multiplier > INT32_MAX)
    return attribute_error(fmt::format("multiplier must be in 0..{}, found {}", INT32_MAX, a.multiplier));
  if (a.shift < -fraction_bits || a.shift > fraction_bits)
    return attribute_error(fmt::format("shift must be in -31..31, found {}", a.shift));
  return tensor_result(in[0].shape, in[0].dtype);
}

// In int64: (x * 2^left * multiplier + half) >> (31 + right), where shift is left or -right. The result wraps.
TensorFunction define_multiply(const FixedPointMultiplyAttrs& a, const Operands& in) {
  Definition d("fixed_point_multiply");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  auto number = [](int64_t n) { return tensor::literal(dtype::i64, n); };
  const int64_t left = std::max<int64_t>(a.shift, 0), bits = fraction_bits + std::max<int64_t>(-a.shift, 0);
  d.result("result", x.type(), x.shape(), [&](Index i) {
    const Expr product = cast(dtype::i64, x(i)) * number(int64_t{1} << left) * number(a.multiplier);
    const Expr rounded = product + number(int64_t{1} << (bits - 1));
    return cast(x.type(), binary(tensor::BinaryOp::shr, rounded, number(bits)));
  });
  return d.finish();
}

}  // namespace

void fixed_point_multiply(OperatorTable& table) {
  table.add<FixedPointMultiplyAttrs>({
      .name = "fixed_point_multiply",
      .summary = "x * multiplier * 2^(shift - 31), rounded to nearest, ties up",
      .attributes = {{"multiplier", &FixedPointMultiplyAttrs::multiplier, "a factor with 31 bits of fraction", true},
                     {"shift", &FixedPointMultiplyAttrs::shift, "the exponent of a second factor 2^shift", true}},
      .arguments = {"data"},
      .type = type_of_multiply,
      .compute = define_multiply,
  });
}

}  // namespace dlcc::relay::ops
