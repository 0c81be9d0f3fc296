// Quantized operators: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and products of quantized tensors.
#include "frontends/onnx/operators/quantization.h"

#include "frontends/onnx/operators/products.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/operators/windows.h"

namespace dlcc::frontends::onnx {

// ---- shared with other files --------------------------------------------------------------------------------------

Value quantized(Node& n, const Value& x, const Value& scale, const Value& zero_point, int64_t axis) {
  return n.call("qnn.quantize", {x, scale, zero_point}, {{"axis", axis}});
}

Value dequantized(Node& n, const Value& x, const Value& scale, const Value& zero_point, int64_t axis) {
  return n.call("qnn.dequantize", {x, scale, zero_point}, {{"axis", axis}});
}

Values dynamically_quantized(Node& n, const Value& x) {
  const Value zero = n.scalar(x.type.dtype, 0), one = n.scalar(x.type.dtype, 1), none = n.scalar(dtype::u8, 0);
  Value high = n.call("maximum", {n.call("max", {x}), zero}), low = n.call("minimum", {n.call("min", {x}), zero});
  Value share = n.call("divide", {n.call("subtract", {high, low}), n.scalar(x.type.dtype, 255)});
  Value scale = n.call("where", {n.call("equal", {high, low}), one, share});  // 1 for zeros, as in onnxruntime
  Value zero_point = quantized(n, n.call("negative", {low}), scale, none, 0);
  return {quantized(n, x, scale, zero_point, 0), scale, zero_point};
}

Value zero_point_or_zero(Node& n, int input, DType type) { return n.has(input) ? n.in(input) : n.scalar(type, 0); }

Value centred(Node& n, const Value& x, const std::optional<Value>& zero_point) {
  Value wide = n.cast(x, dtype::i32);
  return zero_point ? n.call("subtract", {wide, n.cast(*zero_point, dtype::i32)}) : wide;
}

namespace {

bool is_integer8(DType type) { return type == dtype::i8 || type == dtype::u8; }

// ---- QuantizeLinear, DequantizeLinear -----------------------------------------------------------------------------

Values convert_quantize(Node& n) {
  const int64_t number = n.integer("output_dtype", 0), precision = n.integer("precision", 0);
  std::optional<DType> type = dtype::u8;
  if (n.has(2))
    type = n.in(2).type.dtype;
  else if (number != 0)
    type = n.element_type("output_dtype", number);
  n.check(!n.has(2) || number == 0 || dtype_of_onnx(static_cast<int>(number)) == type, DiagnosticId::type_mismatch,
          "output_dtype differs from the type of y_zero_point");
  relay::Attrs attrs = {{"axis", n.integer("axis", 1)},
                        {"block_size", n.integer("block_size", 0)},
                        {"saturate", n.flag("saturate", true)}};
  if (precision != 0)
    if (auto rounded = n.element_type("precision", precision)) attrs["precision"] = dtype_attr(*rounded);
  if (n.failed()) return {};
  const Value scale = is_integer(n.in(1).type.dtype) ? n.cast(n.in(1), dtype::f64) : n.in(1);
  return {n.call("qnn.quantize", {n.in(0), scale, zero_point_or_zero(n, 2, *type)}, attrs)};
}

Values convert_dequantize(Node& n) {
  const Value& x = n.in(0);
  relay::Attrs attrs = {{"axis", n.integer("axis", 1)}, {"block_size", n.integer("block_size", 0)}};
  if (const int64_t number = n.integer("output_dtype", 0))
    if (auto type = n.element_type("output_dtype", number)) attrs["out_dtype"] = dtype_attr(*type);
  return {n.call("qnn.dequantize", {x, n.in(1), zero_point_or_zero(n, 2, x.type.dtype)}, attrs)};
}

Values convert_dynamic_quantize(Node& n) { return dynamically_quantized(n, n.in(0)); }

// ---- products -----------------------------------------------------------------------------------------------------

// A zero point or scale with one number per row of a matrix, as a column.
Value per_row(Node& n, const Value& p, const Value& matrix) {
  const bool rows = p.rank() == 1 && matrix.rank() >= 2 && !(p.type.shape[0] == Dim(1));
  return rows ? n.call("expand_dims", {p}, {{"axis", 1}}) : p;
}

// A parameter with one number per channel, for data with `spatial` axes after the channels.
Value per_channel(Node& n, const Value& p, int64_t spatial) {
  if (p.rank() != 1 || p.type.shape[0] == Dim(1)) return p;
  return n.call("expand_dims", {p}, {{"axis", 1}, {"num_newaxis", spatial}});
}

Values convert_matmul_integer(Node& n) {
  const Value &a = n.in(0), &b = n.in(1);
  n.check(is_integer8(a.type.dtype) && is_integer8(b.type.dtype), DiagnosticId::type_mismatch,
          "A and B must be of type int8 or uint8");
  if (n.failed()) return {};
  auto rows = n.optional_in(2);
  if (rows) rows = per_row(n, *rows, a);
  return {matrix_product(n, centred(n, a, rows), centred(n, b, n.optional_in(3)))};
}

// Sums of products of quantized numbers as the quantized result, for a scale of one number or of the sums' shape.
Value requantized(Node& n, const Value& sums, const Value& a_scale, const Value& b_scale, const Value& y_scale,
                  const Value& y_zero_point) {
  const DType type = dtype::f32;
  auto as_float = [&](const Value& v) { return n.cast(v, type); };
  Value scale = n.call("divide", {n.call("multiply", {as_float(a_scale), as_float(b_scale)}), as_float(y_scale)});
  Value numbers = n.call("multiply", {as_float(sums), scale});
  return quantized(n, numbers, n.scalar(type, 1), y_zero_point, 0);
}

bool check_integers(Node& n, std::initializer_list<int> inputs) {
  for (int k : inputs)
    n.check(is_integer8(n.in(k).type.dtype), DiagnosticId::unsupported_attribute,
            fmt::format("{} must be of type int8 or uint8, found {}", n.in(k).role, describe(n.in(k).type)));
  return !n.failed();
}

// The product of dequantized 8-bit floats, or of 8-bit floats and integers, in float32.
Values convert_float8_matmul(Node& n) {
  auto as_float = [&](const Value& v) { return n.cast(v, dtype::f32); };
  auto numbers = [&](const Value& x, const Value& scale, const Value& zero_point) {
    return n.call("multiply", {n.call("subtract", {as_float(x), as_float(zero_point)}), as_float(scale)});
  };
  const Value a = numbers(n.in(0), per_row(n, n.in(1), n.in(0)), per_row(n, n.in(2), n.in(0)));
  const Value b = numbers(n.in(3), n.in(4), n.in(5));
  return {quantized(n, matrix_product(n, a, b), as_float(n.in(6)), n.in(7), 0)};
}

Values convert_qlinear_matmul(Node& n) {
  auto is_float8 = [&](int input) { return is_minifloat(n.in(input).type.dtype) && bits(n.in(input).type.dtype) == 8; };
  if (is_float8(0) || is_float8(3) || is_float8(7)) return convert_float8_matmul(n);
  if (!check_integers(n, {0, 3, 7})) return {};
  Value product = matrix_product(n, centred(n, n.in(0), per_row(n, n.in(2), n.in(0))), centred(n, n.in(3), n.in(5)));
  return {requantized(n, product, per_row(n, n.in(1), n.in(0)), n.in(4), n.in(6), n.in(7))};
}

// The convolution of two quantized tensors, with zero points that may be missing; weights have one per output channel.
Value integer_convolution(Node& n, int x, int w, int x_zero, int w_zero) {
  const int64_t axes = n.in(w).rank() - 1;
  auto zeros = n.optional_in(w_zero);
  if (zeros) zeros = per_channel(n, *zeros, axes);
  Value data = centred(n, n.in(x), n.optional_in(x_zero)), weight = centred(n, n.in(w), zeros);
  data.role = n.in(x).role;
  weight.role = n.in(w).role;
  return convolution(n, data, weight);
}

Values convert_conv_integer(Node& n) {
  if (!check_integers(n, {0, 1})) return {};
  return {integer_convolution(n, 0, 1, 2, 3)};
}

Values convert_qlinear_conv(Node& n) {
  if (!check_integers(n, {0, 3, 7})) return {};
  Value sums = integer_convolution(n, 0, 3, 2, 5);
  if (n.has(8)) sums = n.call("nn.bias_add", {sums, n.in(8)}, {{"axis", 1}});
  return {requantized(n, sums, n.in(1), per_channel(n, n.in(4), n.in(3).rank() - 2), n.in(6), n.in(7))};
}

}  // namespace

Converter quantize_converter() { return convert_quantize; }
Converter dequantize_converter() { return convert_dequantize; }

void add_quantization(Table& table) {
  table.add({
      {"QuantizeLinear", 10, "x y_scale y_zero_point", 2, 3, 1, convert_quantize, true},
      {"DequantizeLinear", 10, "x x_scale x_zero_point", 2, 3, 1, convert_dequantize, true},
      {"DynamicQuantizeLinear", 11, "x", 1, 1, 3, convert_dynamic_quantize, true},
      {"MatMulInteger", 10, "A B a_zero_point b_zero_point", 2, 4, 1, convert_matmul_integer},
      {"QLinearMatMul", 10, "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point", 8, 8, 1,
       convert_qlinear_matmul},
      {"ConvInteger", 10, "x w x_zero_point w_zero_point", 2, 4, 1, convert_conv_integer},
      {"QLinearConv", 10, "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B", 8, 9, 1,
       convert_qlinear_conv},
  });
  for (const char* op : {"ConvInteger", "QLinearConv"}) table.only_if(op, condition_of_convolution);
}

}  // namespace dlcc::frontends::onnx
