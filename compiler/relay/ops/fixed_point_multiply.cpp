// fixed_point_multiply, fixed_point_multiply_per_axis: multiply integers by constants in fixed point.
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

// ---- one multiplier for each index of axes

struct PerAxisAttrs {
  bool is_lshift_required = false, is_rshift_required = false;
  std::vector<int64_t> axes;
};

TypeResult type_of_multiply_per_axis(const PerAxisAttrs& a, const Operands& in) {
  const char* names[] = {"data", "fp_multiplier", "left_shift", "right_shift"};
  for (size_t k = 0; k < 4; ++k)
    if (in[k].dtype != dtype::i32)
      return TypeError{DiagnosticId::type_mismatch,
                       fmt::format("{} must be int32, found {}", names[k], name(in[k].dtype)), "convert it with cast"};
  const int rank = static_cast<int>(in[0].shape.size()), count = static_cast<int>(a.axes.size());
  if (auto e = check_axes("axes", a.axes, rank)) return *e;
  for (size_t k = 1; k < 4; ++k) {
    if (auto e = check_rank(in[k], names[k], count)) return *e;
    for (int axis = 0; axis < count; ++axis)
      if (auto e = check_equal(in[k].shape[axis], fmt::format("axis {} of {}", axis, names[k]),
                               in[0].shape[wrap_axis(a.axes[axis], rank)], "that of the data"))
        return *e;
  }
  return tensor_result(in[0].shape, in[0].dtype);
}

// In int64: (x * 2^left * multiplier + half) >> (31 + right). The result wraps.
TensorFunction define_multiply_per_axis(const PerAxisAttrs& a, const Operands& in) {
  Definition d("fixed_point_multiply_per_axis");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), multiplier = d.input("fp_multiplier", in[1].dtype, in[1].shape),
         left = d.input("left_shift", in[2].dtype, in[2].shape),
         right = d.input("right_shift", in[3].dtype, in[3].shape);
  auto number = [](int64_t n) { return tensor::literal(dtype::i64, n); };
  d.result("result", x.type(), x.shape(), [&](Index i) {
    std::vector<Expr> at;
    for (int64_t axis : a.axes) at.push_back(i[wrap_axis(axis, x.rank())]);
    auto element = [&](const Tensor& t) { return cast(dtype::i64, t(at)); };
    Expr value = cast(dtype::i64, x(i)), bits = number(fraction_bits);
    if (a.is_lshift_required) value = binary(tensor::BinaryOp::shl, value, element(left));
    if (a.is_rshift_required) bits = bits + element(right);
    const Expr half = binary(tensor::BinaryOp::shl, number(1), bits - number(1));
    return cast(x.type(), binary(tensor::BinaryOp::shr, value * element(multiplier) + half, bits));
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
  using P = PerAxisAttrs;
  table.add<P>({
      .name = "fixed_point_multiply_per_axis",
      .summary = "x * 2^left_shift * fp_multiplier * 2^(-right_shift - 31), rounded to nearest, ties up",
      .attributes = {{"is_lshift_required", &P::is_lshift_required, "whether left_shift counts"},
                     {"is_rshift_required", &P::is_rshift_required, "whether right_shift counts"},
                     {"axes", &P::axes, "the axes along which the factors vary", true}},
      .arguments = {"data", "fp_multiplier", "left_shift", "right_shift"},
      .type = type_of_multiply_per_axis,
      .compute = define_multiply_per_axis,
      .sample_shapes = {{2, 2}, {2}},
      .sample_attrs = {{"axes", std::vector<int64_t>{1}}},
  });
}

}  // namespace dlcc::relay::ops
