// Operators of the domain com.microsoft that exporters and quantizers write: activations, products, quantized
// operators.
#include <limits>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/products.h"
#include "frontends/onnx/operators/quantization.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/operators/windows.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- activations --------------------------------------------------------------------------------------------------

using Function = Value (*)(Node&, const Value&);

// A function of the first input, to which the second one is added if there is one.
Converter biased(Function function) {
  return [function](Node& n) -> Values {
    const Value x = n.has(1) ? add(n, n.in(0), n.in(1)) : n.in(0);
    return {in_float32(n, x, [&](const Value& wide) { return function(n, wide); })};
  };
}

Values convert_quick_gelu(Node& n) {
  const double alpha = n.number("alpha", 1.702f);
  return {multiply(n, n.in(0), n.call("sigmoid", {times(n, n.in(0), alpha)}))};
}

// ---- products -----------------------------------------------------------------------------------------------------

Value swapped(Node& n, const Value& x) {
  std::vector<int64_t> order;
  for (int64_t k = 0; k < x.rank(); ++k) order.push_back(k);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return n.call("transpose", {x}, {{"axes", order}});
}

// Moves the first axis to the position before the last.
Value batch_inside(Node& n, const Value& x) {
  std::vector<int64_t> order;
  for (int64_t k = 1; k + 1 < x.rank(); ++k) order.push_back(k);
  order.insert(order.end(), {0, x.rank() - 1});
  return n.call("transpose", {x}, {{"axes", order}});
}

// alpha * A' * B', where ' may transpose the last two axes, or move the first axis after the other batch axes.
Values convert_fused_matmul(Node& n) {
  Value a = n.in(0), b = n.in(1);
  const double alpha = n.number("alpha", 1);
  const bool batch_a = n.flag("transBatchA", false), batch_b = n.flag("transBatchB", false);
  const bool transpose_a = n.flag("transA", false), transpose_b = n.flag("transB", false);
  if (!n.check(a.rank() >= 1 && b.rank() >= 1, DiagnosticId::shape_mismatch, "A and B must have at least one axis"))
    return {};
  const bool vectors = a.rank() == 1 || b.rank() == 1;  // a vector is not transposed
  if (batch_a && a.rank() > 1) a = batch_inside(n, a);
  if (batch_b && b.rank() > 1) b = batch_inside(n, b);
  if (transpose_a && a.rank() > 1) a = swapped(n, a);
  if (vectors) {
    if (transpose_b && b.rank() > 1) b = swapped(n, b);
    return {times(n, matrix_product(n, a, b), alpha)};
  }
  const char* op = b.rank() == 2 ? "nn.matmul" : "nn.batch_matmul";
  return {times(n, n.call(op, {a, b}, {{"transpose_b", transpose_b}}), alpha)};
}

// An activation that the attribute names, with parameters in the attribute activation_params.
Value named_activation(Node& n, const Value& x) {
  const std::string name = n.text("activation", "");
  const std::vector<float> p = n.numbers("activation_params").value_or(std::vector<float>{});
  auto parameter = [&](size_t k, double otherwise) { return k < p.size() ? static_cast<double>(p[k]) : otherwise; };
  if (name.empty()) return x;
  if (name == "Clip")
    return n.call("clip", {x},
                  {{"a_min", parameter(0, std::numeric_limits<float>::lowest())},
                   {"a_max", parameter(1, std::numeric_limits<float>::max())}});
  if (name == "LeakyRelu") return n.call("nn.leaky_relu", {x}, {{"alpha", parameter(0, 0.01)}});
  for (const auto& [function, op] : {std::pair("Relu", "nn.relu"), {"Tanh", "tanh"}, {"Sigmoid", "sigmoid"}})
    if (name == function) return n.call(op, {x});
  if (name == "HardSigmoid") {
    Value line = add(n, times(n, x, parameter(0, 0.2f)), n.scalar(x.type.dtype, parameter(1, 0.5)));
    return n.call("clip", {line}, {{"a_min", 0.0}, {"a_max", 1.0}});
  }
  n.fail(DiagnosticId::unsupported_attribute, fmt::format("the activation '{}' is not supported", name),
         "it is Relu, Tanh, Sigmoid, LeakyRelu, Clip or HardSigmoid");
  return Value::poison();
}

// activation(convolution + bias + Z)
Values convert_fused_conv(Node& n) {
  Value y = convolution(n, n.in(0), n.in(1));
  if (n.has(2)) y = n.call("nn.bias_add", {y, n.in(2)}, {{"axis", 1}});
  if (n.has(3)) y = add(n, y, n.in(3));
  return {y.poisoned ? y : named_activation(n, y)};
}

// ---- quantized operators ------------------------------------------------------------------------------------------

using Binary = const char*;

// op(A, B) on quantized tensors: A, its scale and zero point, B's, C's.
Converter quantized_binary(Binary op) {
  return [op](Node& n) -> Values {
    const DType type = n.in(0).type.dtype;
    Value a = dequantized(n, n.in(0), n.in(1), zero_point_or_zero(n, 2, type), 0);
    Value b = dequantized(n, n.in(3), n.in(4), zero_point_or_zero(n, 5, type), 0);
    return {quantized(n, n.call(op, {a, b}), n.in(6), zero_point_or_zero(n, 7, type), 0)};
  };
}

// A function of a quantized tensor: X, its scale and zero point, Y's.
Converter quantized_unary(Function function) {
  return [function](Node& n) -> Values {
    const DType type = n.in(0).type.dtype;
    Value x = dequantized(n, n.in(0), n.in(1), zero_point_or_zero(n, 2, type), 0);
    return {quantized(n, function(n, x), n.in(3), zero_point_or_zero(n, 4, type), 0)};
  };
}

Values convert_qlinear_leaky_relu(Node& n) {
  const double alpha = n.number("alpha", 0.01f);
  const DType type = n.in(0).type.dtype;
  Value x = dequantized(n, n.in(0), n.in(1), zero_point_or_zero(n, 2, type), 0);
  Value y = n.call("nn.leaky_relu", {x}, {{"alpha", alpha}});
  return {quantized(n, y, n.in(3), zero_point_or_zero(n, 4, type), 0)};
}

Values convert_qlinear_global_average_pool(Node& n) {
  const Value& q = n.in(0);
  const bool last = n.flag("channels_last", false);
  Value x = dequantized(n, q, n.in(1), n.in(2), 0);
  std::vector<int64_t> axes;
  for (int64_t k = last ? 1 : 2; k < q.rank() - (last ? 1 : 0); ++k) axes.push_back(k);
  Value mean = axes.empty() ? x : n.call("mean", {x}, {{"axis", axes}, {"keepdims", true}});
  return {quantized(n, mean, n.in(3), n.in(4), 0)};
}

// alpha * A' * B' + C in integers, scaled to the quantized result, or to float32 without a scale of it.
Values convert_qgemm(Node& n) {
  enum { a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero };
  const double alpha = n.number("alpha", 1);
  const bool transpose_a = n.flag("transA", false), transpose_b = n.flag("transB", false);
  auto integers_of = [&](int x, int zero) {
    Value offset = n.cast(n.in(zero), dtype::i32);
    if (offset.rank() == 1 && transpose_b && x == b && !(offset.type.shape[0] == Dim(1)))
      offset = n.call("expand_dims", {offset}, {{"axis", 1}});
    return n.call("subtract", {n.cast(n.in(x), dtype::i32), offset});
  };
  Value sums = n.call("nn.matmul", {integers_of(a, a_zero), integers_of(b, b_zero)},
                      {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  if (n.has(c)) sums = add(n, sums, n.in(c));
  Value scale = times(n, multiply(n, n.in(a_scale), n.in(b_scale)), alpha);
  if (sums.poisoned) return {};
  if (!n.has(y_scale)) return {multiply(n, n.cast(sums, dtype::f32), scale)};
  scale = n.call("divide", {scale, n.in(y_scale)});
  Value numbers = multiply(n, n.cast(sums, dtype::f32), scale);
  return {quantized(n, numbers, n.scalar(dtype::f32, 1), zero_point_or_zero(n, y_zero, n.in(a).type.dtype), 0)};
}

// The product of integers, scaled to float32, plus a bias.
Values convert_matmul_integer_to_float(Node& n) {
  enum { a, b, a_scale, b_scale, a_zero, b_zero, bias };
  auto integers_of = [&](int x, int zero) {
    Value wide = n.cast(n.in(x), dtype::i32);
    return n.has(zero) ? n.call("subtract", {wide, n.cast(n.in(zero), dtype::i32)}) : wide;
  };
  const char* op = n.in(b).rank() == 2 ? "nn.matmul" : "nn.batch_matmul";
  Value sums = n.call(op, {integers_of(a, a_zero), integers_of(b, b_zero)});
  if (sums.poisoned) return {};
  Value y = multiply(n, n.cast(sums, dtype::f32), multiply(n, n.in(a_scale), n.in(b_scale)));
  return {n.has(bias) ? add(n, y, n.in(bias)) : y};
}

}  // namespace

void add_microsoft(Table& table) {
  auto sigmoid = [](Node& n, const Value& x) { return n.call("sigmoid", {x}); };
  table.add({
      {"com.microsoft.Gelu", 1, "X", 1, 1, 1, biased(gelu), true},
      {"com.microsoft.BiasGelu", 1, "A B", 2, 2, 1, biased(gelu), true},
      {"com.microsoft.FastGelu", 1, "X bias", 1, 2, 1, biased(gelu_by_tanh), true},
      {"com.microsoft.QuickGelu", 1, "X", 1, 1, 1, convert_quick_gelu, true},
      {"com.microsoft.FusedMatMul", 1, "A B", 2, 2, 1, convert_fused_matmul},
      {"com.microsoft.FusedConv", 1, "X W B Z", 2, 4, 1, convert_fused_conv},
      {"com.microsoft.QuantizeLinear", 1, "x y_scale y_zero_point", 2, 3, 1, quantize_converter(), true},
      {"com.microsoft.DequantizeLinear", 1, "x x_scale x_zero_point", 2, 3, 1, dequantize_converter(), true},
      {"com.microsoft.QLinearAdd", 1, "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point", 7, 8, 1,
       quantized_binary("add")},
      {"com.microsoft.QLinearMul", 1, "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point", 7, 8, 1,
       quantized_binary("multiply")},
      {"com.microsoft.QLinearSigmoid", 1, "X X_scale X_zero_point? Y_scale Y_zero_point", 4, 5, 1,
       quantized_unary(sigmoid), true},
      {"com.microsoft.QLinearLeakyRelu", 1, "X X_scale X_zero_point? Y_scale Y_zero_point", 4, 5, 1,
       convert_qlinear_leaky_relu, true},
      {"com.microsoft.QLinearGlobalAveragePool", 1, "X x_scale x_zero_point y_scale y_zero_point", 5, 5, 1,
       convert_qlinear_global_average_pool},
      {"com.microsoft.QGemm", 1, "A a_scale a_zero_point B b_scale b_zero_point C y_scale y_zero_point", 6, 9, 1,
       convert_qgemm},
      {"com.microsoft.MatMulIntegerToFloat", 1, "A B a_scale b_scale a_zero_point b_zero_point bias", 4, 7, 1,
       convert_matmul_integer_to_float},
  });
  table.only_if("com.microsoft.FusedConv", std::string(condition_of_convolution) +
                                               ", and activation is Relu, Tanh, Sigmoid, LeakyRelu, Clip or "
                                               "HardSigmoid");
}

}  // namespace dlcc::frontends::onnx
