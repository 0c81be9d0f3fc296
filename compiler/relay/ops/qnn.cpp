// qnn.quantize, qnn.dequantize: between real numbers and integers or narrow floats, real = (stored - zero point) *
// scale. A scale is for the whole tensor, for each index of an axis, or for blocks along an axis.
#include "relay/attr_structs.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

bool is_stored_type(DType type) {
  const bool has_sign = is_minifloat(type) && type != DType::float8_e8m0fnu_;
  return has_sign || (is_integer(type) && bits(type) <= 32 && type != dtype::u32);
}
Failure check_stored(DType type, const char* what) {
  if (is_stored_type(type)) return std::nullopt;
  return TypeError{
      DiagnosticId::type_mismatch,
      fmt::format("{} must be an integer of 2 to 32 bits, a float8 or a float4, found {}", what, name(type)), ""};
}

// A scale is a float of at least 16 bits, or a power of two.
bool is_power_of_two(const TensorType& scale) { return scale.dtype == DType::float8_e8m0fnu_; }
Failure check_scale(const TensorType& scale, const char* what) {
  return is_power_of_two(scale) ? std::nullopt : check_type(scale, what, types::real);
}
// The type that arithmetic with the scale has unless an attribute says it.
DType precision_of(const TensorType& scale) { return is_power_of_two(scale) ? dtype::f32 : scale.dtype; }

// Whether a scale or zero point has one element for the whole tensor.
bool is_single(const Shape& scale) { return scale.empty() || (scale.size() == 1 && scale[0] == Dim(1)); }

// The shape of scale and zero point fits the data.
Failure check_granularity(const Shape& data, const TensorType& scale, const char* what, int64_t axis,
                          int64_t block_size) {
  if (is_single(scale.shape)) return std::nullopt;
  const int rank = static_cast<int>(data.size());
  if (auto e = check_axis("axis", axis, rank)) return e;
  const int k = wrap_axis(axis, rank);
  if (block_size == 0) {
    if (auto e = check_rank(scale, what, 1)) return e;
    return check_equal(scale.shape[0], fmt::format("the number of elements of {}", what), data[k],
                       fmt::format("the size of axis {}", k));
  }
  if (auto e = first_of({check_positive("block_size", {block_size}), check_rank(scale, what, rank)})) return e;
  for (int j = 0; j < rank; ++j) {
    const Dim expected = j == k ? floor_div(data[j] + Dim(block_size - 1), block_size) : data[j];
    if (auto e = check_equal(scale.shape[j], fmt::format("axis {} of {}", j, what), expected,
                             fmt::format("that of the data in blocks of {}", block_size)))
      return e;
  }
  return std::nullopt;
}

// The element of scale or zero point for the data's element at `i`.
Expr parameter_at(const Tensor& p, Index i, int64_t axis, int64_t block_size) {
  if (p.shape().empty()) return p(std::vector<Expr>{});
  if (is_single(p.shape())) return p(Expr(0));
  const int k = wrap_axis(axis, static_cast<int>(i.size()));
  if (block_size == 0) return p(i[k]);
  std::vector<Expr> at = i;
  at[k] = floor_div(i[k], Expr(block_size));
  return p(at);
}

// The value rounded to a type of fewer bits than arithmetic has.
Expr rounded_to(DType type, Expr value) {
  return tensor::compute_type(type) == type ? value : cast(tensor::compute_type(type), cast(type, value));
}

TypeResult type_of_quantize(const QuantizeAttrs& a, const Operands& in) {
  const bool integer = in[0].dtype == dtype::i32;
  if (auto e = first_of({integer ? std::nullopt : check_type(in[0], "data", types::real),
                         check_scale(in[1], "output_scale"), check_stored(in[2].dtype, "output_zero_point"),
                         check_granularity(in[0].shape, in[1], "output_scale", a.axis, a.block_size),
                         check_granularity(in[0].shape, in[2], "output_zero_point", a.axis, a.block_size)}))
    return *e;
  return tensor_result(in[0].shape, in[2].dtype);
}

// The bounds of an integer type as numbers of a float type.
Expr clipped_to(DType type, Expr value) {
  const int width = bits(type) - (is_signed(type) ? 1 : 0);
  const double high = static_cast<double>((int64_t{1} << width) - 1), low = is_signed(type) ? -high - 1 : 0;
  return max(min(value, number(value.type(), high)), number(value.type(), low));
}

TensorFunction define_quantize(const QuantizeAttrs& a, const Operands& in) {
  Definition d("qnn.quantize");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), scale = d.input("output_scale", in[1].dtype, in[1].shape),
         zero = d.input("output_zero_point", in[2].dtype, in[2].shape);
  const DType precision = a.precision.value_or(precision_of(in[1]));
  const bool wide =
      in[0].dtype == dtype::f64 || precision == dtype::f64 || (is_integer(zero.type()) && bits(zero.type()) == 32);
  const DType type = wide ? dtype::f64 : dtype::f32;
  d.result("result", zero.type(), x.shape(), [&](Index i) {
    const Expr quotient =
        rounded_to(precision, cast(type, x(i)) / cast(type, parameter_at(scale, i, a.axis, a.block_size)));
    const Expr value = cast(type, quotient), offset = cast(type, parameter_at(zero, i, a.axis, a.block_size));
    if (is_float(zero.type()))  // -0 + 0 would lose the sign
      return cast(zero.type(), select(equal(offset, number(type, 0)), value, value + offset), a.saturate);
    const Expr shifted = round_even(value) + offset;
    return cast(zero.type(), clipped_to(zero.type(), shifted));
  });
  return d.finish();
}

TypeResult type_of_dequantize(const DequantizeAttrs& a, const Operands& in) {
  const DType result = a.out_dtype.value_or(precision_of(in[1]));
  if (auto e = first_of({check_stored(in[0].dtype, "data"), check_scale(in[1], "input_scale"),
                         check_type({{}, result}, "out_dtype", types::real),
                         check_granularity(in[0].shape, in[1], "input_scale", a.axis, a.block_size),
                         check_same_type(in[0], "data", in[2], "input_zero_point"),
                         check_granularity(in[0].shape, in[2], "input_zero_point", a.axis, a.block_size)}))
    return *e;
  return tensor_result(in[0].shape, result);
}

TensorFunction define_dequantize(const DequantizeAttrs& a, const Operands& in) {
  Definition d("qnn.dequantize");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), scale = d.input("input_scale", in[1].dtype, in[1].shape),
         zero = d.input("input_zero_point", in[2].dtype, in[2].shape);
  const DType result = a.out_dtype.value_or(precision_of(in[1]));
  const DType type = result == dtype::f64 || in[1].dtype == dtype::f64 ? dtype::f64 : dtype::f32;
  d.result("result", result, x.shape(), [&](Index i) {
    const Expr factor = cast(type, parameter_at(scale, i, a.axis, a.block_size));
    if (is_float(x.type()))
      return (cast(type, x(i)) - cast(type, parameter_at(zero, i, a.axis, a.block_size))) * factor;
    const Expr offset = cast(dtype::i32, parameter_at(zero, i, a.axis, a.block_size));
    return cast(type, cast(dtype::i32, x(i)) - offset) * factor;
  });
  return d.finish();
}

}  // namespace

void qnn(OperatorTable& table) {
  using Q = QuantizeAttrs;
  using D = DequantizeAttrs;
  table.add<Q>({
      .name = "qnn.quantize",
      .summary = "data / scale, rounded to the nearest even integer, plus the zero point, saturating to its type",
      .attributes =
          {{"axis", &Q::axis, "the axis of scales that are not one number"},
           {"block_size", &Q::block_size, "elements along the axis that share a scale; 0: one scale per index"},
           {"saturate", &Q::saturate, "for float8: too large values become the largest finite one"},
           {"precision", &Q::precision,
            "the type in which the division is rounded; the scale's, or float32 for a float8_e8m0fnu, if None"}},
      .arguments = {"data", "output_scale", "output_zero_point"},
      .type = type_of_quantize,
      .compute = define_quantize,
  });
  table.add<D>({
      .name = "qnn.dequantize",
      .summary = "(data - zero point) * scale",
      .attributes = {{"axis", &D::axis, "the axis of scales that are not one number"},
                     {"block_size", &D::block_size,
                      "elements along the axis that share a scale; 0: one scale per index"},
                     {"out_dtype", &D::out_dtype,
                      "the type of the result; the scale's, or float32 for a float8_e8m0fnu, if None"}},
      .arguments = {"data", "input_scale", "input_zero_point"},
      .type = type_of_dequantize,
      .compute = define_dequantize,
      .dequantizes = true,
  });
}

}  // namespace dlcc::relay::ops
