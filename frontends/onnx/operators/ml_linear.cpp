// Linear models of ai.onnx.ml.
#include <algorithm>

#include "frontends/onnx/operators/ml_scores.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// x * coefficients^T + intercepts, [rows, targets], for coefficients [targets, features].
Value linear_scores(Node& n, int64_t targets) {
  const auto coefficients = n.numbers("coefficients").value_or(std::vector<float>{});
  const auto given = n.numbers("intercepts");
  const auto count = static_cast<int64_t>(coefficients.size());
  n.check(targets > 0 && targets <= count && count % targets == 0 && require_features(n, 0, count / targets),
          DiagnosticId::shape_mismatch,
          fmt::format("there are {} coefficients for {} targets and data {}", count, targets, describe(n.in(0).type)));
  const Value x = rows_of_features(n, 0, false);
  if (n.failed()) return Value::poison();
  const std::vector<float> intercepts = given.value_or(std::vector<float>(static_cast<size_t>(targets)));
  n.check(static_cast<int64_t>(intercepts.size()) == targets, DiagnosticId::bad_attribute,
          fmt::format("there are {} intercepts for {} targets", intercepts.size(), targets));
  if (n.failed()) return Value::poison();
  Value weights = real_table(dtype::f32, coefficients, targets, count / targets);
  Value products = n.call("nn.matmul", {x, weights}, {{"transpose_b", true}});
  return n.call("add", {products, real_list(dtype::f32, intercepts)});
}

Values convert_linear_regressor(Node& n) {
  const std::string post = n.text("post_transform", "NONE");
  return {post_transformed(n, linear_scores(n, n.integer("targets", 1)), post)};
}

Values convert_linear_classifier(Node& n) {
  const ClassLabels labels = class_labels(n, "classlabels_ints");
  const std::string post = n.text("post_transform", "NONE");
  n.ignore("multi_class");
  const auto intercepts = n.numbers("intercepts");
  const auto targets = static_cast<int64_t>(intercepts ? intercepts->size() : labels.count);
  Value scores = linear_scores(n, targets);
  const bool binary = targets == 1 && labels.count == 2;
  n.check(binary || static_cast<size_t>(targets) == labels.count, DiagnosticId::bad_attribute,
          fmt::format("there are {} rows of coefficients for {} labels", targets, labels.count));
  if (n.failed()) return {};
  if (!binary) return {labels_at(n, labels, best_of_row(n, scores)), post_transformed(n, scores, post)};
  Value position =
      n.cast(n.reshape(n.call("greater", {scores, n.scalar(dtype::f32, 0)}), {scores.type.shape[0]}), dtype::i64);
  return {labels_at(n, labels, position), scores_of_two_classes(n, scores, post, true)};
}

}  // namespace

void add_ml_linear(Table& table) {
  table.add({
      {"ai.onnx.ml.LinearRegressor", 1, "X", 1, 1, 1, convert_linear_regressor},
      {"ai.onnx.ml.LinearClassifier", 1, "X", 1, 1, 2, convert_linear_classifier},
  });
  table.only_if("ai.onnx.ml.LinearClassifier", "labels are integers");
}

}  // namespace dlcc::frontends::onnx
