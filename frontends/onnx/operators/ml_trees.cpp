// Tree ensembles of ai.onnx.ml.
#include <algorithm>
#include <cmath>
#include <set>

#include "frontends/onnx/operators/ml_scores.h"
#include "frontends/onnx/operators/ml_tree_nodes.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- scores -------------------------------------------------------------------------------------------------------

bool check_trees(Node& n, const TreeEnsemble& trees, const Value& x) {
  n.check(!trees.roots.empty() && trees.targets >= 1, DiagnosticId::bad_attribute, "there are no trees or no targets");
  const auto features = x.poisoned ? std::nullopt : x.type.shape[1].constant();
  n.check(features && *features > 0, DiagnosticId::dynamic_shape,
          "the number of features must be a number of at least 1", "give the dimension a number: --dim NAME=8");
  if (n.failed()) return false;
  for (const TreeNode& node : trees.nodes) {
    n.check(node.feature >= 0 && node.feature < *features, DiagnosticId::bad_attribute,
            fmt::format("a node reads feature {}, the input has {} features", node.feature, *features));
    for (const auto& [target, weight] : node.weights)
      n.check(target >= 0 && target < trees.targets, DiagnosticId::bad_attribute,
              fmt::format("a leaf has a weight for target {} of {}", target, trees.targets));
  }
  return !n.failed();
}

Value scores_of(Node& n, const TreeEnsemble& trees, const Value& x, const std::string& aggregate, DType weight) {
  auto tables = tree_tables(n, trees, x.type.dtype, weight);
  if (!tables) return Value::poison();
  Values operands = {x};
  operands.insert(operands.end(), tables->operands.begin(), tables->operands.end());
  return n.call(
      "ml.tree_ensemble", operands,
      {{"n_targets", trees.targets}, {"aggregate", aggregate}, {"has_missing_values", tables->has_missing_values}});
}

// Which targets of a row have a weight, as bools [rows, targets]; empty: all.
std::optional<Value> have_weights(Node& n, TreeEnsemble trees, const Value& x) {
  bool all = true;
  for (int64_t target = 0; target < trees.targets; ++target) all = all && always_has_weight(trees, target);
  if (all) return std::nullopt;
  for (TreeNode& node : trees.nodes)
    for (auto& [target, weight] : node.weights) weight = 1;
  return n.call("greater", {scores_of(n, trees, x, "max", x.type.dtype), n.scalar(x.type.dtype, 0)});
}

// The scores with an aggregate function of the standard. Targets without a weight have 0.
Value aggregated(Node& n, const TreeEnsemble& trees, const Value& x, const std::string& function, DType weight) {
  const bool average = function == "AVERAGE";
  const std::string aggregate = average || function == "SUM" ? "sum"
                                : function == "MIN"          ? "min"
                                : function == "MAX"          ? "max"
                                                             : "";
  if (!n.check(!aggregate.empty(), DiagnosticId::bad_attribute, fmt::format("aggregate_function is '{}'", function),
               "SUM, AVERAGE, MIN and MAX are known"))
    return Value::poison();
  Value scores = scores_of(n, trees, x, aggregate, weight);
  if (average) return n.call("divide", {scores, n.scalar(weight, static_cast<double>(trees.roots.size()))});
  const auto has = aggregate == "sum" ? std::nullopt : have_weights(n, trees, x);
  return has ? n.call("where", {*has, scores, n.scalar(weight, 0)}) : scores;
}

Value with_base_values(Node& n, const Value& scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  Value values = Value::of(Constant::of<double>(dtype::f64, {static_cast<int64_t>(base.size())}, base));
  return n.call("add", {scores, n.cast(values, scores.type.dtype)});
}

// ---- operators ----------------------------------------------------------------------------------------------------

Values convert_tree_regressor(Node& n) {
  auto trees = read_named_trees(n, "target");
  const Value x = rows_of_features(n, 0, true);
  const auto base = reals_of(n, "base_values", "base_values_as_tensor");
  const std::string function = n.text("aggregate_function", "SUM"), post = n.text("post_transform", "NONE");
  const int64_t targets = n.integer("n_targets", 1);
  if (!trees) return {};
  trees->targets = targets;
  if (!check_trees(n, *trees, x)) return {};
  n.check(base.empty() || base.size() == 1 || static_cast<int64_t>(base.size()) == targets, DiagnosticId::bad_attribute,
          fmt::format("there are {} base values for {} targets", base.size(), targets));
  Value scores = with_base_values(n, aggregated(n, *trees, x, function, x.type.dtype), base);
  return {n.cast(post_transformed(n, scores, post), dtype::f32)};
}

Values convert_tree_ensemble(Node& n) {
  static constexpr const char* functions[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static constexpr const char* transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  auto trees = read_numbered_trees(n);
  const int64_t function = n.integer("aggregate_function", 1), post = n.integer("post_transform", 0);
  const int64_t targets = n.integer("n_targets", 1);
  n.check(function >= 0 && function <= 3 && post >= 0 && post <= 4, DiagnosticId::bad_attribute,
          fmt::format("aggregate_function is {}, post_transform is {}", function, post));
  const DType type = n.in(0).type.dtype;
  const Value x = rows_of_features(n, 0, true);
  if (!trees || n.failed()) return {};
  trees->targets = targets;
  if (!check_trees(n, *trees, x)) return {};
  Value scores = aggregated(n, *trees, x, functions[function], x.type.dtype);
  return {n.cast(post_transformed(n, scores, transforms[post]), type)};
}

// Scores of two classes from the score of one of them, and the position of the better class. onnxruntime decides by the
// signs of the weights whether the score is a probability.
Values binary_classes(Node& n, const TreeEnsemble& trees, const Value& score, bool second, const std::string& post) {
  bool probabilities = true;
  for (const TreeNode& node : trees.nodes)
    for (const auto& [target, weight] : node.weights) probabilities = probabilities && weight >= 0;
  const DType type = score.type.dtype;
  Value is_second = n.call("greater", {score, n.scalar(type, probabilities ? 0.5 : 0)});
  Value position = n.cast(n.reshape(is_second, {score.type.shape[0]}), dtype::i64);
  if (second) {
    Value other = n.call("multiply", {score, n.scalar(type, 0)});
    Value both = n.call("concatenate", {other, score}, {{"axis", 1}});
    return {position, post_transformed(n, both, post)};
  }
  return {position, scores_of_two_classes(n, score, post, probabilities)};
}

// The only class that leaves have weights for; empty if there are several.
std::optional<int64_t> only_class(const TreeEnsemble& trees) {
  std::set<int64_t> classes;
  for (const TreeNode& node : trees.nodes)
    for (const auto& [target, weight] : node.weights) classes.insert(target);
  return classes.size() == 1 ? std::optional(*classes.begin()) : std::nullopt;
}

Values convert_tree_classifier(Node& n) {
  auto trees = read_named_trees(n, "class");
  const ClassLabels labels = class_labels(n, "classlabels_int64s");
  const auto base = reals_of(n, "base_values", "base_values_as_tensor");
  const std::string post = n.text("post_transform", "NONE");
  const Value x = rows_of_features(n, 0, true);
  if (!trees || n.failed()) return {};
  const size_t count = labels.count;
  trees->targets = static_cast<int64_t>(count);
  const auto only = only_class(*trees);
  const bool binary = count == 2 && only && base.size() != 2 && post != "PROBIT";
  n.check(count >= 2, DiagnosticId::unsupported_attribute, "a classifier needs at least two labels");
  n.check(base.empty() || base.size() == count || (binary && *only == 0 && base.size() == 1),
          DiagnosticId::bad_attribute, fmt::format("there are {} base values for {} classes", base.size(), count));
  if (!check_trees(n, *trees, x)) return {};
  if (binary) {
    TreeEnsemble one = *trees;
    one.targets = 1;
    for (TreeNode& node : one.nodes)
      for (auto& [target, weight] : node.weights) target = 0;
    Value score = with_base_values(n, scores_of(n, one, x, "sum", x.type.dtype), base);
    Values results = binary_classes(n, *trees, score, *only == 1, post);
    return {labels_at(n, labels, results[0]), n.cast(results[1], dtype::f32)};
  }
  Value scores = with_base_values(n, scores_of(n, *trees, x, "sum", x.type.dtype), base);
  // Only classes with a weight are compared.
  const auto has = base.empty() ? have_weights(n, *trees, x) : std::nullopt;
  Value compared = has ? n.call("where", {*has, scores, n.scalar(scores.type.dtype, -INFINITY)}) : scores;
  return {labels_at(n, labels, best_of_row(n, compared)), n.cast(post_transformed(n, scores, post), dtype::f32)};
}

}  // namespace

void add_ml_trees(Table& table) {
  table.add({
      {"ai.onnx.ml.TreeEnsembleRegressor", 1, "X", 1, 1, 1, convert_tree_regressor},
      {"ai.onnx.ml.TreeEnsembleClassifier", 1, "X", 1, 1, 2, convert_tree_classifier},
      {"ai.onnx.ml.TreeEnsemble", 5, "X", 1, 1, 1, convert_tree_ensemble},
  });
  table.only_if("ai.onnx.ml.TreeEnsembleClassifier",
                "labels are integers, and the number of features is known at compile time");
  table.only_if("ai.onnx.ml.TreeEnsembleRegressor", "the number of features is known at compile time");
  table.only_if("ai.onnx.ml.TreeEnsemble", "the number of features is known at compile time");
}

}  // namespace dlcc::frontends::onnx
