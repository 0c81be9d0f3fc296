// Operators of the domain com.microsoft that exporters and onnxruntime's optimizer write: activations and products.
#include <limits>

#include "frontends/onnx/operators/activations.h"
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/products.h"
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

// activation(alpha * A' * B' + beta * C)
Values convert_fused_gemm(Node& n) {
  const auto activation = read_activation(n);
  const Value y = general_product(n);
  return {y.poisoned || !activation ? y : activate(n, *activation, y)};
}

// activation(convolution + bias + Z)
Values convert_fused_conv(Node& n) {
  Value y = convolution(n, n.in(0), n.in(1));
  if (n.has(2)) y = n.call("nn.bias_add", {y, n.in(2)}, {{"axis", 1}});
  if (n.has(3)) y = add(n, y, n.in(3));
  return {y.poisoned ? y : named_activation(n, y)};
}

}  // namespace

void add_microsoft(Table& table) {
  table.add({
      {"com.microsoft.Gelu", 1, "X", 1, 1, 1, biased(gelu), true},
      {"com.microsoft.BiasGelu", 1, "A B", 2, 2, 1, biased(gelu), true},
      {"com.microsoft.FastGelu", 1, "X bias", 1, 2, 1, biased(gelu_by_tanh), true},
      {"com.microsoft.QuickGelu", 1, "X", 1, 1, 1, convert_quick_gelu, true},
      {"com.microsoft.FusedMatMul", 1, "A B", 2, 2, 1, convert_fused_matmul},
      {"com.microsoft.FusedGemm", 1, "A B C", 2, 3, 1, convert_fused_gemm},
      {"com.microsoft.FusedConv", 1, "X W B Z", 2, 4, 1, convert_fused_conv},
  });
  table.only_if("com.microsoft.FusedConv", std::string(condition_of_convolution) +
                                               ", and activation is Relu, Tanh, Sigmoid, LeakyRelu, Clip or "
                                               "HardSigmoid");
}

}  // namespace dlcc::frontends::onnx
