#include "frontends/onnx/operators/ml_scores.h"

#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// exp(x - max) of the elements that are not 0, divided by their sum: elements of 0 stay 0. As in onnxruntime, an
// element is 0 within 1e-7.
Value softmax_zero(Node& n, const Value& x) {
  const DType type = x.type.dtype;
  const relay::Attrs per_row = {{"axis", relay::AttrList{-1}}, {"keepdims", true}};
  Value most = n.call("max", {x}, per_row);
  Value is_zero = n.call("less_equal", {n.call("abs", {x}), n.scalar(type, 1e-7)});
  Value small = n.call("multiply", {x, n.call("exp", {n.call("negative", {most})})});
  Value powers = n.call("where", {is_zero, small, n.call("exp", {n.call("subtract", {x, most})})});
  return n.call("divide", {powers, n.call("sum", {powers}, per_row)});
}

// sqrt(2) * erfinv(2 x - 1), where erfinv is the approximation of Winitzki (2008), as in onnxruntime.
Value probit(Node& n, const Value& x) {
  const DType type = x.type.dtype;
  auto number = [&](double v) { return n.scalar(type, v); };
  auto plus = [&](const Value& a, const Value& b) { return n.call("add", {a, b}); };
  auto times = [&](const Value& a, const Value& b) { return n.call("multiply", {a, b}); };
  auto minus = [&](const Value& a, const Value& b) { return n.call("subtract", {a, b}); };
  constexpr double a = 0.147, pi = 3.14159;
  Value y = minus(times(number(2), x), number(1));
  Value logarithm = n.call("log", {times(minus(number(1), y), plus(number(1), y))});
  Value v = plus(number(2 / (pi * a)), times(number(0.5), logarithm));
  Value root = n.call("sqrt", {minus(times(v, v), times(number(1 / a), logarithm))});
  Value size = n.call("sqrt", {minus(root, v)});
  Value sign = n.call("where", {n.call("less", {y, number(0)}), number(-1.41421356), number(1.41421356)});
  return times(sign, size);
}

}  // namespace

Value post_transformed(Node& n, const Value& scores, const std::string& function) {
  const bool one = !scores.poisoned && scores.rank() == 2 && scores.type.shape[1] == Dim(1);
  const bool is_known = function == "SOFTMAX" || function == "LOGISTIC" || function == "SOFTMAX_ZERO";
  if (function == "NONE" || (one && is_known)) return scores;
  if (function == "SOFTMAX") return n.call("nn.softmax", {scores}, {{"axis", -1}});
  if (function == "LOGISTIC") return n.call("sigmoid", {scores});
  if (function == "SOFTMAX_ZERO") return softmax_zero(n, scores);
  if (function == "PROBIT") return probit(n, scores);
  n.fail(DiagnosticId::bad_attribute, fmt::format("post_transform is '{}'", function),
         "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT are known");
  return Value::poison();
}

Value scores_of_two_classes(Node& n, const Value& score, const std::string& function, bool probability) {
  Value negative = n.call("negative", {score});
  const bool logistic = function == "LOGISTIC";
  Value other = probability && !logistic ? n.call("add", {negative, n.scalar(score.type.dtype, 1)}) : negative;
  Value both = n.call("concatenate", {other, score}, {{"axis", 1}});
  return logistic || function == "PROBIT" ? post_transformed(n, both, function) : both;
}

ClassLabels class_labels(Node& n, const char* integers, const char* strings) {
  auto numbers = n.integers(integers);
  auto texts = n.texts(strings);
  n.check(numbers.has_value() != texts.has_value(), DiagnosticId::bad_attribute,
          fmt::format("the labels must be given by one of '{}' and '{}'", integers, strings));
  if (numbers) return {numbers->size(), Constant::of(dtype::i64, {static_cast<int64_t>(numbers->size())}, *numbers)};
  return {texts ? texts->size() : 0, std::nullopt};
}

Value labels_at(Node& n, const ClassLabels& labels, const Value& positions) {
  if (!n.wants(0)) return Value::poison();
  n.check(labels.numbers.has_value(), DiagnosticId::unsupported_type,
          "the labels are strings, which no tensor of a compiled model has",
          "give the model labels that are integers, and translate them after the model; or leave out the output of "
          "labels");
  if (n.failed()) return Value::poison();
  return n.call("take", {Value::of(*labels.numbers), positions}, {{"axis", 0}});
}

Value best_of_row(Node& n, const Value& scores) {
  return n.call("argmax", {scores}, {{"axis", relay::AttrList{-1}}, {"dtype", "int64"}});
}

Value rows_of_features(Node& n, int input, bool keeps_float64) {
  const Value& x = n.in(input);
  n.check(x.rank() == 1 || x.rank() == 2, DiagnosticId::shape_mismatch,
          fmt::format("{} must be [rows, features] or [features], found {}", x.role, describe(x.type)));
  if (n.failed()) return Value::poison();
  const Value rows = x.rank() == 1 ? n.reshape(x, {Dim(1), x.type.shape[0]}) : x;
  return n.cast(rows, keeps_float64 && x.type.dtype == dtype::f64 ? dtype::f64 : dtype::f32);
}

bool require_features(Node& n, int input, int64_t features) {
  Shape shape = n.in(input).type.shape;
  if (shape.empty()) return false;
  shape.back() = Dim(features);
  return n.require_shape(input, shape);
}

Value real_list(DType type, const std::vector<float>& values) {
  return real_table(type, values, -1, static_cast<int64_t>(values.size()));
}

Value real_table(DType type, const std::vector<float>& values, int64_t rows, int64_t columns) {
  const std::vector<int64_t> shape = rows < 0 ? std::vector<int64_t>{columns} : std::vector<int64_t>{rows, columns};
  if (type == dtype::f64)
    return Value::of(Constant::of<double>(type, shape, std::vector<double>(values.begin(), values.end())));
  return Value::of(Constant::of<float>(type, shape, values));
}

}  // namespace dlcc::frontends::onnx
