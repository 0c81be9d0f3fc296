// Quantized operators of the domain com.microsoft that onnxruntime's quantizer writes.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/axes.h"
#include "frontends/onnx/operators/normalization.h"
#include "frontends/onnx/operators/quantization.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/operators/windows.h"

namespace dlcc::frontends::onnx {
namespace {

// op(A, B) on quantized tensors: A, its scale and zero point, B's, C's.
Converter quantized_binary(const char* op) {
  return [op](Node& n) -> Values {
    const DType type = n.in(0).type.dtype;
    Value a = dequantized(n, n.in(0), n.in(1), zero_point_or_zero(n, 2, type), 0);
    Value b = dequantized(n, n.in(3), n.in(4), zero_point_or_zero(n, 5, type), 0);
    return {quantized(n, n.call(op, {a, b}), n.in(6), zero_point_or_zero(n, 7, type), 0)};
  };
}

// f(X) on a quantized tensor. The inputs are X, its scale and zero point, the result's.
template <class Function>
Values on_numbers(Node& n, const Function& f) {
  const DType type = n.in(0).type.dtype;
  Value x = dequantized(n, n.in(0), n.in(1), zero_point_or_zero(n, 2, type), 0);
  if (x.poisoned) return {};
  x.role = n.in(0).role;
  const Value y = f(x);
  if (y.poisoned) return {};
  return {quantized(n, y, n.in(3), zero_point_or_zero(n, 4, type), 0)};
}

Values convert_qlinear_sigmoid(Node& n) {
  return on_numbers(n, [&](const Value& x) { return n.call("sigmoid", {x}); });
}

Values convert_qlinear_leaky_relu(Node& n) {
  const double alpha = n.number("alpha", 0.01f);
  return on_numbers(n, [&](const Value& x) { return n.call("nn.leaky_relu", {x}, {{"alpha", alpha}}); });
}

Values convert_qlinear_global_average_pool(Node& n) {
  const bool last = n.flag("channels_last", false);
  return on_numbers(n, [&](const Value& x) {
    std::vector<int64_t> axes;
    for (int64_t k = last ? 1 : 2; k < x.rank() - (last ? 1 : 0); ++k) axes.push_back(k);
    return axes.empty() ? x : n.call("mean", {x}, {{"axis", axes}, {"keepdims", true}});
  });
}

Values convert_qlinear_average_pool(Node& n) {
  const int64_t rank = n.in(0).rank();
  const bool last = n.flag("channels_last", false) && rank >= 3;
  return on_numbers(n, [&](const Value& x) {
    if (!last) return average_pooling(n, x);
    Value moved = with_axis_moved(n, x, rank - 1, 1);
    moved.role = x.role;
    const Value y = average_pooling(n, moved);
    return y.poisoned ? y : with_axis_moved(n, y, 1, rank - 1);
  });
}

// Softmax as the operator set that the attribute `opset` gives.
Values convert_qlinear_softmax(Node& n) {
  const int64_t opset = n.required_integer("opset");
  return on_numbers(n, [&](const Value& x) {
    return opset < 13 ? flattened_softmax(n, "nn.softmax", x, -1)
                      : n.call("nn.softmax", {x}, {{"axis", n.integer("axis", -1)}});
  });
}

// Y's scale and zero point, then each tensor with its scale and zero point.
Values convert_qlinear_concat(Node& n) {
  const int64_t axis = n.required_integer("axis");
  if (!n.check(n.input_count() % 3 == 2, DiagnosticId::wrong_arity,
               "the inputs must be a scale, a zero point, and three inputs for each tensor"))
    return {};
  Values parts;
  for (int k = 2; k < n.input_count(); k += 3) parts.push_back(dequantized(n, n.in(k), n.in(k + 1), n.in(k + 2), 0));
  return {quantized(n, n.call("concatenate", parts, {{"axis", axis}}), n.in(0), n.in(1), 0)};
}

// X where the condition holds, else Y; each has a scale and a zero point.
Values convert_qlinear_where(Node& n) {
  enum { condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero };
  Value chosen = n.call("where", {n.in(condition), dequantized(n, n.in(x), n.in(x_scale), n.in(x_zero), 0),
                                  dequantized(n, n.in(y), n.in(y_scale), n.in(y_zero), 0)});
  return {quantized(n, chosen, n.in(z_scale), n.in(z_zero), 0)};
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
  const char* op = n.in(b).rank() == 2 ? "nn.matmul" : "nn.batch_matmul";
  Value sums = n.call(op, {centred(n, n.in(a), n.optional_in(a_zero)), centred(n, n.in(b), n.optional_in(b_zero))});
  if (sums.poisoned) return {};
  Value y = multiply(n, n.cast(sums, dtype::f32), multiply(n, n.in(a_scale), n.in(b_scale)));
  return {n.has(bias) ? add(n, y, n.in(bias)) : y};
}

}  // namespace

void add_microsoft_quantized(Table& table) {
  table.add({
      {"com.microsoft.QuantizeLinear", 1, "x y_scale y_zero_point", 2, 3, 1, quantize_converter(), true},
      {"com.microsoft.DequantizeLinear", 1, "x x_scale x_zero_point", 2, 3, 1, dequantize_converter(), true},
      {"com.microsoft.QLinearAdd", 1, "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point", 7, 8, 1,
       quantized_binary("add")},
      {"com.microsoft.QLinearMul", 1, "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point", 7, 8, 1,
       quantized_binary("multiply")},
      {"com.microsoft.QLinearSigmoid", 1, "X X_scale X_zero_point? Y_scale Y_zero_point", 4, 5, 1,
       convert_qlinear_sigmoid, true},
      {"com.microsoft.QLinearLeakyRelu", 1, "X X_scale X_zero_point? Y_scale Y_zero_point", 4, 5, 1,
       convert_qlinear_leaky_relu, true},
      {"com.microsoft.QLinearGlobalAveragePool", 1, "X x_scale x_zero_point y_scale y_zero_point", 5, 5, 1,
       convert_qlinear_global_average_pool},
      {"com.microsoft.QGemm", 1, "A a_scale a_zero_point B b_scale b_zero_point C y_scale y_zero_point", 6, 9, 1,
       convert_qgemm},
      {"com.microsoft.MatMulIntegerToFloat", 1, "A B a_scale b_scale a_zero_point b_zero_point bias", 4, 7, 1,
       convert_matmul_integer_to_float},
      {"com.microsoft.QLinearAveragePool", 1, "X x_scale x_zero_point? y_scale y_zero_point", 4, 5, 1,
       convert_qlinear_average_pool},
      {"com.microsoft.QLinearConcat", 1, "Y_scale Y_zero_point inputs", 5, any_number, 1, convert_qlinear_concat},
      {"com.microsoft.QLinearSoftmax", 1, "X X_scale x_zero_point? y_scale y_zero_point", 4, 5, 1,
       convert_qlinear_softmax, true},
      {"com.microsoft.QLinearWhere", 1, "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point",
       9, 9, 1, convert_qlinear_where},
  });
  table.only_if("com.microsoft.QLinearAveragePool", "there are one to three spatial axes");
}

}  // namespace dlcc::frontends::onnx
