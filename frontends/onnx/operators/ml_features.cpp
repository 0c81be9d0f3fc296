// The operators of ai.onnx.ml that prepare features.
#include <cmath>

#include "frontends/onnx/operators/ml_scores.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

// Which elements are greater than a threshold. Integers are compared with the largest integer that is not above it.
Value is_above(Node& n, const Value& x, double threshold) {
  const DType type = x.type.dtype;
  if (!is_integer(type)) return n.call("greater", {x, n.scalar(type, threshold)});
  const double whole = std::floor(threshold);
  const double end = std::ldexp(1, bits(type) - (is_signed(type) ? 1 : 0)), least = is_signed(type) ? -end : 0;
  if (whole >= least && whole < std::ldexp(1, 63) && whole < end) {
    const Value bound = Value::of(Constant::of<int64_t>(dtype::i64, {}, {static_cast<int64_t>(whole)}));
    return n.call("greater", {x, n.cast(bound, type)});
  }
  return n.call("full", {n.scalar(dtype::boolean, whole < least)}, {{"shape", relay::sizes_attribute(x.type.shape)}});
}

Values convert_binarizer(Node& n) {
  const Value& x = n.in(0);
  return {n.cast(is_above(n, x, n.number("threshold", 0)), x.type.dtype)};
}

// Elements of the last axis; a vector counts as one row.
Values convert_array_feature_extractor(Node& n) {
  const Value& x = n.in(0);
  n.check(x.rank() >= 1, DiagnosticId::shape_mismatch, "X must have at least one axis");
  if (n.failed()) return {};
  Value rows = x.rank() == 1 ? n.reshape(x, {Dim(1), x.type.shape[0]}) : x;
  Value positions = n.reshape(n.in(1), {product(n.in(1).type.shape)});
  return {n.call("take", {rows, positions}, {{"axis", -1}, {"mode", "strict"}})};
}

// The size of the axis of features: the second one, or the only one.
std::optional<Dim> features_of(Node& n, const Value& x) {
  if (!n.check(x.rank() == 1 || x.rank() == 2, DiagnosticId::shape_mismatch,
               fmt::format("{} must be [rows, features] or [features], found {}", x.role, describe(x.type))))
    return std::nullopt;
  return x.type.shape.back();
}

// An attribute with one number for all features, or one number for each feature.
Value per_feature(Node& n, const Value& x, const char* name, float otherwise) {
  const auto list = n.numbers(name).value_or(std::vector<float>{otherwise});
  if (list.size() == 1) return n.scalar(dtype::f32, static_cast<double>(list[0]));
  n.check(features_of(n, x) && require_features(n, 0, static_cast<int64_t>(list.size())), DiagnosticId::shape_mismatch,
          fmt::format("attribute '{}' has {} numbers for data {}", name, list.size(), describe(x.type)));
  return n.failed() ? Value::poison() : real_list(dtype::f32, list);
}

Values convert_scaler(Node& n) {
  Value offset = per_feature(n, n.in(0), "offset", 0), scale = per_feature(n, n.in(0), "scale", 1);
  const Value x = n.cast(n.in(0), dtype::f32);
  return {n.call("multiply", {n.call("subtract", {x, offset}), scale})};
}

// The rows divided by their largest element or their norm; rows for which that is 0 stay as they are.
Values convert_normalizer(Node& n) {
  const std::string norm = n.text("norm", "MAX");
  n.check(norm == "MAX" || norm == "L1" || norm == "L2", DiagnosticId::bad_attribute,
          fmt::format("norm is '{}'; it must be MAX, L1 or L2", norm));
  if (!features_of(n, n.in(0))) return {};
  const Value x = n.cast(n.in(0), dtype::f32);
  const relay::Attrs rows = {{"axis", relay::AttrList{-1}}, {"keepdims", true}};
  Value size;
  if (norm == "MAX") size = n.call("max", {x}, rows);
  if (norm == "L1") size = n.call("sum", {n.call("abs", {x})}, rows);
  if (norm == "L2") size = n.call("sqrt", {n.call("sum", {n.call("multiply", {x, x})}, rows)});
  Value is_zero = n.call("equal", {size, n.scalar(dtype::f32, 0)});
  return {n.call("divide", {x, n.call("where", {is_zero, n.scalar(dtype::f32, 1), size})})};
}

Values convert_imputer(Node& n) {
  const bool integers = is_integer(n.in(0).type.dtype);
  const auto floats = n.numbers("imputed_value_floats");
  const auto whole = n.integers("imputed_value_int64s");
  const double replaced_float = n.number("replaced_value_float", 0);
  const int64_t replaced_whole = n.integer("replaced_value_int64", 0);
  n.check(n.in(0).rank() >= 1, DiagnosticId::shape_mismatch, "X must have an axis of features");
  const size_t count = integers ? (whole ? whole->size() : 0) : (floats ? floats->size() : 0);
  n.check(count == 1 || (count > 1 && require_features(n, 0, static_cast<int64_t>(count))),
          DiagnosticId::shape_mismatch,
          fmt::format("there are {} imputed values of the element type for data {}", count, describe(n.in(0).type)));
  if (n.failed()) return {};
  const Value& x = n.in(0);
  Value imputed = integers ? Value::of(Constant::of(dtype::i64, {static_cast<int64_t>(count)}, *whole))
                           : real_list(dtype::f32, *floats);
  const bool replaces_nan = !integers && std::isnan(replaced_float);
  Value is_missing =
      replaces_nan
          ? n.call("isnan", {x})
          : n.call("equal", {x, n.cast(integers ? Value::of(Constant::of<int64_t>(dtype::i64, {}, {replaced_whole}))
                                                : n.scalar(dtype::f32, replaced_float),
                                       x.type.dtype)});
  return {n.call("where", {is_missing, n.cast(imputed, x.type.dtype), x})};
}

// One-hot rows of strings that are known at compile time.
Value one_hot_of_strings(Node& n, const Structure& x, const std::vector<std::string>& categories, bool zeros) {
  std::vector<float> rows;
  for (const std::string& text : x.texts) {
    bool found = false;
    for (const std::string& category : categories) {
      rows.push_back(!found && category == text);
      found = found || category == text;
    }
    n.check(found || zeros, DiagnosticId::bad_data, fmt::format("'{}' is none of the categories", text));
  }
  std::vector<int64_t> shape = x.shape;
  shape.push_back(static_cast<int64_t>(categories.size()));
  return Value::of(Constant::of(dtype::f32, shape, rows));
}

Values convert_one_hot_encoder(Node& n) {
  const Value& x = n.in(0);
  const auto numbers = n.integers("cats_int64s");
  const auto texts = n.texts("cats_strings");
  const bool zeros = n.flag("zeros", true);
  n.check(numbers.has_value() != texts.has_value(), DiagnosticId::bad_attribute,
          "the categories must be given by one of 'cats_int64s' and 'cats_strings'");
  n.check(!x.structure || is_strings(x), DiagnosticId::type_mismatch,
          fmt::format("X must be a tensor, found {}", describe(x)));
  n.check(is_strings(x) == texts.has_value(), DiagnosticId::type_mismatch,
          fmt::format("X is {}, the categories are {}", describe(x), texts ? "strings" : "integers"));
  if (n.failed()) return {};
  if (texts) return {one_hot_of_strings(n, *x.structure, *texts, zeros)};
  const auto count = static_cast<int64_t>(numbers->size());
  Value categories = Value::of(Constant::of(dtype::i64, {count}, *numbers));
  Value column = n.call("expand_dims", {n.cast(x, dtype::i64)}, {{"axis", -1}});
  Value is_category = n.call("equal", {column, categories});
  if (zeros) return {n.cast(is_category, dtype::f32)};
  // An element that is no category is an index out of range.
  const relay::AttrList last = {-1};
  Value first = n.call("argmax", {n.cast(is_category, dtype::i32)}, {{"axis", last}, {"dtype", "int64"}});
  Value position = n.call("where", {n.call("any", {is_category}, {{"axis", last}}), first,
                                    n.scalar(dtype::i64, static_cast<double>(count))});
  std::vector<float> identity(static_cast<size_t>(count * count));
  for (int64_t k = 0; k < count; ++k) identity[static_cast<size_t>(k * count + k)] = 1;
  return {
      n.call("take", {real_table(dtype::f32, identity, count, count), position}, {{"axis", 0}, {"mode", "strict"}})};
}

Values convert_feature_vectorizer(Node& n) {
  const auto sizes = n.integers("inputdimensions");  // without it, inputs have as many features as their shapes say
  n.check(!sizes || sizes->size() == n.all_inputs().size(), DiagnosticId::bad_attribute,
          "attribute 'inputdimensions' must have one number for each input");
  Values columns;
  for (int k = 0; k < n.input_count() && !n.failed(); ++k) {
    if (!features_of(n, n.in(k))) return {};
    n.check(!sizes || require_features(n, k, (*sizes)[static_cast<size_t>(k)]), DiagnosticId::shape_mismatch,
            fmt::format("{} is {}, but attribute 'inputdimensions' has {} features", n.in(k).role,
                        describe(n.in(k).type), sizes ? (*sizes)[static_cast<size_t>(k)] : 0));
    columns.push_back(rows_of_features(n, k, false));
  }
  return {n.failed() ? Value::poison() : n.call("concatenate", columns, {{"axis", 1}})};
}

}  // namespace

void add_ml_features(Table& table) {
  table.add({
      {"ai.onnx.ml.Binarizer", 1, "X", 1, 1, 1, convert_binarizer, true},
      {"ai.onnx.ml.ArrayFeatureExtractor", 1, "X Y", 2, 2, 1, convert_array_feature_extractor},
      {"ai.onnx.ml.Scaler", 1, "X", 1, 1, 1, convert_scaler, true},
      {"ai.onnx.ml.Normalizer", 1, "X", 1, 1, 1, convert_normalizer, true},
      {"ai.onnx.ml.Imputer", 1, "X", 1, 1, 1, convert_imputer, true},
      {"ai.onnx.ml.FeatureVectorizer", 1, "X", 1, any_number, 1, convert_feature_vectorizer},
  });
  table.add_with_structures({{"ai.onnx.ml.OneHotEncoder", 1, "X", 1, 1, 1, convert_one_hot_encoder}});
}

}  // namespace dlcc::frontends::onnx
