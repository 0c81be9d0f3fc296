// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// The loss of log probabilities [N, C, ...] for the node's targets, its input 1, with the weights of classes, input 2.
Value loss_of(Node& n, const Value& log_probabilities) {
  const DType type = log_probabilities.type.dtype;
  relay::Attrs attrs = {{"reduction", n.text("reduction", "mean")}};
  if (n.has_attr("ignore_index")) attrs["ignore_index"] = n.integer("ignore_index", 0);
  if (!n.check(log_probabilities.rank() >= 2, DiagnosticId::shape_mismatch,
               fmt::format("{} must have axes for batch and classes", n.in(0).role)))
    return Value::poison();
  const Value weights =
      n.has(2)
          ? n.cast(n.in(2), type)
          : n.call("ones", {},
                   {{"shape", relay::sizes_attribute({log_probabilities.type.shape[1]})}, {"dtype", dtype_attr(type)}});
  return n.call("nn.nll_loss", {log_probabilities, n.in(1), weights}, attrs);
}

Values convert_negative_log_likelihood(Node& n) { return {loss_of(n, n.in(0))}; }

// Log probabilities as an elementwise function of the scores and two numbers for each row, so that fusion computes only
// the few that the loss reads.
Value log_softmax(Node& n, const Value& x) {
  const relay::Attrs along = {{"axis", relay::AttrList{1}}, {"keepdims", true}};
  const Value shifted = subtract(n, x, n.call("max", {x}, along));
  return subtract(n, shifted, n.call("log", {n.call("sum", {n.call("exp", {shifted})}, along)}));
}

Values convert_softmax_cross_entropy(Node& n) {
  const DType type = n.in(0).type.dtype;
  const Value scores = bits(type) == 16 ? n.cast(n.in(0), dtype::f32) : n.in(0);
  if (!n.wants(1)) return {n.cast(loss_of(n, log_softmax(n, scores)), type)};
  const Value log_probabilities = n.call("nn.log_softmax", {scores}, {{"axis", 1}});
  return {n.cast(loss_of(n, log_probabilities), type), n.cast(log_probabilities, type)};
}

}  // namespace

void add_losses(Table& table) {
  table.add({
      {"NegativeLogLikelihoodLoss", 12, "input target weight", 2, 3, 1, convert_negative_log_likelihood},
      {"SoftmaxCrossEntropyLoss", 12, "scores labels weights", 2, 3, 2, convert_softmax_cross_entropy},
  });
}

}  // namespace dlcc::frontends::onnx
