// Operators of the domain com.microsoft that exporters and onnxruntime's optimizer write: activations and products.
#include <algorithm>
#include <limits>
#include <span>

#include "frontends/onnx/operators/activations.h"
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/axes.h"
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

// With the last two axes swapped.
Value swapped(Node& n, const Value& x) { return with_axis_moved(n, x, x.rank() - 2, x.rank() - 1); }

// alpha * A' * B', where ' may transpose the last two axes, or move the first axis after the other batch axes.
Values convert_fused_matmul(Node& n) {
  Value a = n.in(0), b = n.in(1);
  const double alpha = n.number("alpha", 1);
  const bool batch_a = n.flag("transBatchA", false), batch_b = n.flag("transBatchB", false);
  const bool transpose_a = n.flag("transA", false), transpose_b = n.flag("transB", false);
  if (!n.check(a.rank() >= 1 && b.rank() >= 1, DiagnosticId::shape_mismatch, "A and B must have at least one axis"))
    return {};
  const bool vectors = a.rank() == 1 || b.rank() == 1;  // a vector is not transposed
  if (batch_a && a.rank() > 1) a = with_axis_moved(n, a, 0, a.rank() - 2);
  if (batch_b && b.rank() > 1) b = with_axis_moved(n, b, 0, b.rank() - 2);
  if (transpose_a && a.rank() > 1) a = swapped(n, a);
  if (vectors) {
    if (transpose_b && b.rank() > 1) b = swapped(n, b);
    return {times(n, matrix_product(n, a, b), alpha)};
  }
  const char* op = b.rank() == 2 ? "nn.matmul" : "nn.batch_matmul";
  return {times(n, n.call(op, {a, b}, {{"transpose_b", transpose_b}}), alpha)};
}

// The function that the attribute `activation` names, of x; x without the attribute.
Value activated(Node& n, const Value& x, std::span<const float> alpha, std::span<const float> beta) {
  const std::string name = n.text("activation", "");
  if (name.empty()) return x;
  const auto activation = find_activation(n, name, alpha, beta);
  return activation && !x.poisoned ? activate(n, *activation, x) : Value::poison();
}

// activation(alpha * A' * B' + beta * C)
Values convert_fused_gemm(Node& n) {
  auto parameter = [&](const std::string& name) {
    return n.has_attr(name) ? std::vector{static_cast<float>(n.number(name, 0))} : std::vector<float>{};
  };
  const std::vector<float> alpha = parameter("activation_alpha"), beta = parameter("activation_beta");
  return {activated(n, general_product(n), alpha, beta)};
}

// activation(convolution + bias + Z); activation_params has alpha and beta, or the limits of Clip.
Values convert_fused_conv(Node& n) {
  Value y = convolution(n, n.in(0), n.in(1));
  if (n.has(2)) y = n.call("nn.bias_add", {y, n.in(2)}, {{"axis", 1}});
  if (n.has(3)) y = add(n, y, n.in(3));
  if (y.poisoned) return {};
  const std::vector<float> parameters = n.numbers("activation_params").value_or(std::vector<float>{});
  const std::span<const float> list = parameters, alpha = list.first(std::min<size_t>(list.size(), 1)),
                               beta = list.subspan(alpha.size());
  if (n.text("activation", "") != "Clip") return {activated(n, y, alpha, beta)};
  const double least = alpha.empty() ? std::numeric_limits<float>::lowest() : alpha[0];
  const double most = beta.empty() ? std::numeric_limits<float>::max() : beta[0];
  return {n.call("clip", {y}, {{"a_min", least}, {"a_max", most}})};
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
  table.only_if("com.microsoft.FusedConv", condition_of_convolution);
}

}  // namespace dlcc::frontends::onnx
