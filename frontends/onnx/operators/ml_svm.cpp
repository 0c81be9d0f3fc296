// Support vector machines of ai.onnx.ml.
#include <algorithm>
#include <limits>
#include <numeric>

#include "frontends/onnx/operators/ml_scores.h"
#include "frontends/onnx/operators/pairwise_coupling.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};

Kernel read_kernel(Node& n) {
  Kernel k{n.text("kernel_type", "LINEAR")};
  const auto params = n.numbers("kernel_params").value_or(std::vector<float>{0, 0, 0});
  n.check(params.size() == 3, DiagnosticId::bad_attribute,
          fmt::format("attribute 'kernel_params' must have 3 numbers, found {}", params.size()));
  if (params.size() == 3) k.gamma = params[0], k.coef0 = params[1], k.degree = params[2];
  static constexpr const char* known[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  n.check(std::ranges::count(known, k.type) > 0, DiagnosticId::bad_attribute,
          fmt::format("kernel_type is '{}'", k.type), "LINEAR, POLY, RBF and SIGMOID are known");
  return k;
}

// The kernel of each row of x and each vector, a row of a table: [rows, vectors].
Value kernels(Node& n, const Kernel& k, const Value& x, const Value& vectors) {
  auto number = [&](double v) { return n.scalar(dtype::f32, v); };
  if (k.type == "RBF") {
    Value difference = n.call("subtract", {n.call("expand_dims", {x}, {{"axis", 1}}), vectors});
    Value distance = n.call("sum", {n.call("multiply", {difference, difference})}, {{"axis", relay::AttrList{-1}}});
    return n.call("exp", {n.call("multiply", {distance, number(-k.gamma)})});
  }
  Value dot = n.call("nn.matmul", {x, vectors}, {{"transpose_b", true}});
  if (k.type == "LINEAR") return dot;
  Value scaled = n.call("add", {n.call("multiply", {dot, number(k.gamma)}), number(k.coef0)});
  return k.type == "POLY" ? n.call("power", {scaled, number(k.degree)}) : n.call("tanh", {scaled});
}

// The rows of an attribute as a table with as many columns as the data x, the rows of the first input, has features,
// which then have that number. Empty, with a report, if they do not fit.
std::optional<Value> rows_of(Node& n, const char* name, Value& x, int64_t rows) {
  const auto numbers = n.numbers(name).value_or(std::vector<float>{});
  const auto count = static_cast<int64_t>(numbers.size());
  n.check(rows > 0 && count > 0 && count % rows == 0 && require_features(n, 0, count / rows),
          DiagnosticId::shape_mismatch,
          fmt::format("attribute '{}' has {} numbers for {} vectors and data {}", name, count, rows,
                      describe(n.in(0).type)));
  x = rows_of_features(n, 0, false);
  return n.failed() ? std::nullopt : std::optional(real_table(dtype::f32, numbers, rows, count / rows));
}

Value with_rho(Node& n, const Value& scores, const std::vector<float>& rho) {
  return n.call("add", {scores, real_list(dtype::f32, rho)});
}

std::vector<float> read_rho(Node& n, size_t count) {
  const auto rho = n.numbers("rho").value_or(std::vector<float>{});
  n.check(rho.size() == count, DiagnosticId::bad_attribute,
          fmt::format("attribute 'rho' must have {} numbers, found {}", count, rho.size()));
  return rho;
}

Values convert_svm_regressor(Node& n) {
  const Kernel kernel = read_kernel(n);
  Value x = rows_of_features(n, 0, false);
  const int64_t supports = n.integer("n_supports", 0);
  const bool one_class = n.flag("one_class", false);
  const std::string post = n.text("post_transform", "NONE");
  const std::vector<float> rho = read_rho(n, 1);
  Value score;
  if (supports > 0) {
    auto vectors = rows_of(n, "support_vectors", x, supports);
    const auto coefficients = n.numbers("coefficients").value_or(std::vector<float>{});
    n.check(static_cast<int64_t>(coefficients.size()) == supports, DiagnosticId::bad_attribute,
            fmt::format("there are {} coefficients for {} support vectors", coefficients.size(), supports));
    if (n.failed()) return {};
    score = n.call("nn.matmul", {kernels(n, kernel, x, *vectors), real_table(dtype::f32, coefficients, supports, 1)});
  } else {
    n.ignore("support_vectors");
    auto row = rows_of(n, "coefficients", x, 1);
    if (!row) return {};
    score = kernels(n, {"LINEAR"}, x, *row);
  }
  score = with_rho(n, score, rho);
  if (!one_class) return {post_transformed(n, score, post)};
  Value is_inside = n.call("greater", {score, n.scalar(dtype::f32, 0)});
  return {n.call("where", {is_inside, n.scalar(dtype::f32, 1), n.scalar(dtype::f32, -1)})};
}

// A classifier of one machine for each pair of classes (i, j), i < j.
class PairwiseClassifier {
 public:
  PairwiseClassifier(Node& n, const ClassLabels& labels, std::vector<int64_t> vectors)
      : n_(n), labels_(labels), vectors_(std::move(vectors)) {
    for (size_t i = 0; i < labels.count; ++i)
      for (size_t j = i + 1; j < labels.count; ++j) pairs_.emplace_back(i, j);
  }

  Values convert(Value x, const Kernel& kernel, const std::string& post) {
    const int64_t all = std::accumulate(vectors_.begin(), vectors_.end(), int64_t{0});
    const auto rho = read_rho(n_, pairs_.size());
    const auto a = n_.numbers("prob_a"), b = n_.numbers("prob_b");
    n_.check(vectors_.size() == labels_.count, DiagnosticId::bad_attribute,
             fmt::format("attribute 'vectors_per_class' has {} numbers for {} labels", vectors_.size(), labels_.count));
    auto vectors = rows_of(n_, "support_vectors", x, all);
    if (n_.failed()) return {};
    Value scores = with_rho(n_, n_.call("nn.matmul", {kernels(n_, kernel, x, *vectors), coefficients(all)}), rho);
    const bool fits = a && b && a->size() == pairs_.size() && b->size() == pairs_.size();
    n_.check(fits || (!a && !b), DiagnosticId::bad_attribute,
             fmt::format("attributes 'prob_a' and 'prob_b' must have one number for each of the {} pairs of classes",
                         pairs_.size()));
    if (n_.failed()) return {};
    if (fits) return probabilities(scores, *a, *b, post);
    Value position = best_of_row(n_, votes(scores));
    if (labels_.count != 2) return {labels_at(n_, labels_, position), post_transformed(n_, scores, post)};
    return {labels_at(n_, labels_, position), scores_of_two_classes(n_, scores, post, post != "NONE")};
  }

 private:
  // The weight of each vector in each pair: attribute 'coefficients' has a row for each class but the first, where a
  // vector of class i has its weight against class j in row j - 1 if i < j, else in row j.
  Value coefficients(int64_t all) {
    const auto given = n_.numbers("coefficients").value_or(std::vector<float>{});
    n_.check(given.size() == static_cast<size_t>(all) * (labels_.count - 1), DiagnosticId::bad_attribute,
             fmt::format("there are {} coefficients for {} vectors and {} classes", given.size(), all, labels_.count));
    if (n_.failed()) return Value::poison();
    std::vector<float> table(static_cast<size_t>(all) * pairs_.size());
    size_t vector = 0;
    for (size_t c = 0; c < labels_.count; ++c)
      for (int64_t k = 0; k < vectors_[c]; ++k, ++vector)
        for (size_t p = 0; p < pairs_.size(); ++p) {
          const auto [i, j] = pairs_[p];
          if (c == i) table[vector * pairs_.size() + p] = given[(j - 1) * static_cast<size_t>(all) + vector];
          if (c == j) table[vector * pairs_.size() + p] = given[i * static_cast<size_t>(all) + vector];
        }
    return real_table(dtype::f32, table, all, static_cast<int64_t>(pairs_.size()));
  }

  // A positive score is a vote for the first class of a pair, another one for the second.
  Value votes(const Value& scores) {
    std::vector<float> change(pairs_.size() * labels_.count), otherwise(labels_.count);
    for (size_t p = 0; p < pairs_.size(); ++p) {
      change[p * labels_.count + pairs_[p].first] = 1;
      change[p * labels_.count + pairs_[p].second] = -1;
      ++otherwise[pairs_[p].second];
    }
    Value is_first = n_.cast(n_.call("greater", {scores, n_.scalar(dtype::f32, 0)}), dtype::f32);
    Value table =
        real_table(dtype::f32, change, static_cast<int64_t>(pairs_.size()), static_cast<int64_t>(labels_.count));
    return n_.call("add", {n_.call("nn.matmul", {is_first, table}), real_list(dtype::f32, otherwise)});
  }

  // Platt scaling of each pair's score, then coupling. The labels are those with the most votes, as in onnxruntime.
  Values probabilities(const Value& scores, const std::vector<float>& a, const std::vector<float>& b,
                       const std::string& post) {
    auto number = [&](double v) { return n_.scalar(dtype::f32, v); };
    auto negative = [&](const std::vector<float>& list) { return n_.call("negative", {real_list(dtype::f32, list)}); };
    Value line = n_.call("add", {n_.call("multiply", {scores, negative(a)}), negative(b)});
    Value first = n_.call("sigmoid", {line}), all;
    if (labels_.count == 2) {
      all = n_.call("concatenate", {first, n_.call("subtract", {number(1), first})}, {{"axis", 1}});
    } else {
      constexpr double least = 1e-7;
      first = n_.call("clip", {first}, {{"a_min", least}, {"a_max", 1 - least}});
      all = coupled_probabilities(n_, first, pairs_, labels_.count);
    }
    return {labels_at(n_, labels_, best_of_row(n_, votes(scores))), post_transformed(n_, all, post)};
  }

  Node& n_;
  const ClassLabels& labels_;
  std::vector<int64_t> vectors_;  // of each class
  std::vector<std::pair<size_t, size_t>> pairs_;
};

Values convert_svm_classifier(Node& n) {
  const Kernel kernel = read_kernel(n);
  const ClassLabels labels = class_labels(n, "classlabels_ints");
  Value x = rows_of_features(n, 0, false);
  const std::string post = n.text("post_transform", "NONE");
  const auto vectors = n.integers("vectors_per_class");
  for (int64_t count : vectors.value_or(std::vector<int64_t>{}))
    n.check(count >= 0 && count <= std::numeric_limits<int32_t>::max(), DiagnosticId::bad_attribute,
            fmt::format("attribute 'vectors_per_class' has {}, which is no number of vectors", count));
  n.check(labels.count >= 2, DiagnosticId::unsupported_attribute, "a classifier needs at least two labels");
  if (n.failed()) return {};
  if (vectors && !vectors->empty()) return PairwiseClassifier(n, labels, *vectors).convert(x, kernel, post);
  // One linear function for each class, whose scores are no probabilities.
  for (const char* unused : {"support_vectors", "prob_a", "prob_b"}) n.ignore(unused);
  const std::vector<float> rho = read_rho(n, 1);
  auto rows = rows_of(n, "coefficients", x, static_cast<int64_t>(labels.count));
  if (!rows) return {};
  Value scores = with_rho(n, kernels(n, kernel, x, *rows), rho);
  return {labels_at(n, labels, best_of_row(n, scores)), post_transformed(n, scores, post)};
}

}  // namespace

void add_ml_svm(Table& table) {
  table.add({
      {"ai.onnx.ml.SVMRegressor", 1, "X", 1, 1, 1, convert_svm_regressor},
      {"ai.onnx.ml.SVMClassifier", 1, "X", 1, 1, 2, convert_svm_classifier},
  });
  table.only_if("ai.onnx.ml.SVMClassifier", "labels are integers");
}

}  // namespace dlcc::frontends::onnx
