// qnn.quantize, qnn.dequantize: between real numbers and integers or narrow floats, real = (stored - zero point) *
// scale. A scale is for the whole tensor, for each index of an axis, or for blocks along an axis.
#include "relay/attr_structs.h"
#include "relay/op_support/quantization.h"

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

// The value rounded to a type of fewer bits than arithmetic has.
Expr rounded_to(DType type, Expr value) {
  return tensor::compute_type(type) == type ? value : cast(tensor::compute_type(type), cast(type, value));
}

// TVM gives the zero point of a narrower integer type as an int32.
bool is_wide_zero(DType zero, DType stored) { return zero == dtype::i32 && is_integer(stored); }

TypeResult type_of_quantize(const QuantizeAttrs& a, const Operands& in) {
  const bool integer = in[0].dtype == dtype::i32;
  const DType result = a.out_dtype.value_or(in[2].dtype);
  if (result != in[2].dtype && !is_wide_zero(in[2].dtype, result))
    return TypeError{
        DiagnosticId::type_mismatch,
        fmt::format("output_zero_point must have type {} or int32, found {}", name(result), name(in[2].dtype)),
        "convert it with cast"};
  if (auto e =
          first_of({integer ? std::nullopt : check_type(in[0], "data", types::real), check_scale(in[1], "output_scale"),
                    check_stored(result, a.out_dtype ? "out_dtype" : "output_zero_point"),
                    check_granularity(in[0].shape, in[1], "output_scale", a.axis, a.block_size),
                    check_granularity(in[0].shape, in[2], "output_zero_point", a.axis, a.block_size)}))
    return *e;
  return tensor_result(in[0].shape, result);
}

TensorFunction define_quantize(const QuantizeAttrs& a, const Operands& in) {
  Definition d("qnn.quantize");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), scale = d.input("output_scale", in[1].dtype, in[1].shape),
         zero = d.input("output_zero_point", in[2].dtype, in[2].shape);
  const DType precision = a.precision.value_or(precision_of(in[1]));
  const DType stored_type = a.out_dtype.value_or(zero.type());
  const bool wide =
      in[0].dtype == dtype::f64 || precision == dtype::f64 || (is_integer(stored_type) && bits(stored_type) == 32);
  const DType type = wide ? dtype::f64 : dtype::f32;
  d.result("result", stored_type, x.shape(), [&](Index i) {
    const Expr quotient =
        rounded_to(precision, cast(type, x(i)) / cast(type, parameter_at(scale, i, a.axis, a.block_size)));
    const Expr value = cast(type, quotient), offset = cast(type, parameter_at(zero, i, a.axis, a.block_size));
    if (is_float(stored_type))  // -0 + 0 would lose the sign
      return cast(stored_type, select(equal(offset, number(type, 0)), value, value + offset), a.saturate);
    const Expr shifted = round_even(value) + offset;
    return cast(stored_type, clipped_to(stored_type, shifted));
  });
  return d.finish();
}

TypeResult type_of_dequantize(const DequantizeAttrs& a, const Operands& in) {
  const DType result = a.out_dtype.value_or(precision_of(in[1]));
  if (auto e =
          first_of({check_stored(in[0].dtype, "data"), check_scale(in[1], "input_scale"),
                    check_type({{}, result}, "out_dtype", types::real),
                    check_granularity(in[0].shape, in[1], "input_scale", a.axis, a.block_size),
                    is_wide_zero(in[2].dtype, in[0].dtype) ? std::nullopt
                                                           : check_same_type(in[0], "data", in[2], "input_zero_point"),
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
            "the type in which the division is rounded; the scale's, or float32 for a float8_e8m0fnu, if None"},
           {"out_dtype", &Q::out_dtype, "the type of the result; the zero point's if None"}},
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
