// LabelEncoder of ai.onnx.ml: values for keys. Strings are known at compile time.
#include <algorithm>
#include <map>

#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

// Keys or values: strings, or numbers as a constant of rank 1.
struct Labels {
  bool given = false;
  std::vector<std::string> texts = {};
  std::optional<Constant> numbers = {};

  size_t count() const { return numbers ? static_cast<size_t>(numbers->count()) : texts.size(); }
};

// "keys_strings", "keys_int64s", "keys_floats" or "keys_tensor".
Labels labels(Node& n, const std::string& kind) {
  Labels found;
  int lists = 0;
  if (auto texts = n.texts(kind + "_strings")) found.texts = *texts, ++lists;
  if (auto whole = n.integers(kind + "_int64s"))
    found.numbers = Constant::of(dtype::i64, {static_cast<int64_t>(whole->size())}, *whole), ++lists;
  if (auto reals = n.numbers(kind + "_floats"))
    found.numbers = Constant::of(dtype::f32, {static_cast<int64_t>(reals->size())}, *reals), ++lists;
  if (n.has_attr(kind + "_tensor")) {
    if (auto strings = n.string_tensor(kind + "_tensor"))
      found.texts = strings->structure->texts, ++lists;
    else if (auto tensor = n.tensor(kind + "_tensor"))
      found.numbers = tensor->reshaped({tensor->count()}), ++lists;
  }
  found.given = lists == 1;
  n.check(found.given, DiagnosticId::bad_attribute, fmt::format("the {} must be given by one attribute", kind));
  return found;
}

// The value of keys that are not listed: a constant of one element, or a string.
struct Default {
  Constant number;
  std::string text;
};

Default default_value(Node& n, const Labels& values) {
  Default result{Constant::of<int64_t>(dtype::i64, {}, {n.integer("default_int64", -1)}),
                 n.text("default_string", "_Unused")};
  const auto real = static_cast<float>(n.number("default_float", -0.0f));
  if (values.numbers && is_float(values.numbers->dtype())) result.number = Constant::of<float>(dtype::f32, {}, {real});
  if (!n.has_attr("default_tensor")) return result;
  if (auto strings = n.string_tensor("default_tensor")) {
    if (strings->structure->texts.size() == 1) result.text = strings->structure->texts[0];
  } else if (auto tensor = n.tensor("default_tensor"); tensor && tensor->count() == 1) {
    result.number = tensor->reshaped({});
  }
  return result;
}

// The position of each wanted string among the keys; the number of keys if it is not a key.
std::vector<int64_t> positions(const std::vector<std::string>& keys, const std::vector<std::string>& wanted) {
  std::map<std::string, size_t> index;
  for (size_t k = 0; k < keys.size(); ++k) index[keys[k]] = k;  // the last one of equal keys counts
  std::vector<int64_t> found;
  for (const std::string& text : wanted) {
    auto at = index.find(text);
    found.push_back(static_cast<int64_t>(at == index.end() ? keys.size() : at->second));
  }
  return found;
}

// The last position of each element among the keys; their number where it is none. NaN is equal to NaN.
Value positions(Node& n, const Value& x, const Constant& keys) {
  const relay::AttrList last = {-1};
  Value column = n.call("expand_dims", {x}, {{"axis", -1}});
  Value list = n.cast(Value::of(keys), x.type.dtype);
  Value is_key = n.call("equal", {column, list});
  if (is_float(x.type.dtype))
    is_key =
        n.call("logical_or", {is_key, n.call("logical_and", {n.call("isnan", {column}), n.call("isnan", {list})})});
  Value at =
      n.call("argmax", {n.cast(is_key, dtype::i32)}, {{"axis", last}, {"dtype", "int64"}, {"select_last_index", true}});
  return n.call("where", {n.call("any", {is_key}, {{"axis", last}}), at,
                          n.scalar(dtype::i64, static_cast<double>(keys.count()))});
}

// The strings at known positions; the position after the last string gives the default.
Value texts_at(Node& n, const Value& at, std::vector<std::string> texts, const std::string& otherwise) {
  n.check(at.constant() != nullptr, DiagnosticId::unsupported_type,
          "the values are strings, which no tensor of a compiled model has",
          "translate the numbers to strings after the model");
  if (n.failed()) return Value::poison();
  texts.push_back(otherwise);
  const Constant& index = *at.constant();
  std::vector<std::string> result;
  for (int64_t k = 0; k < index.count(); ++k) result.push_back(texts.at(static_cast<size_t>(index.integer_at(k))));
  return strings_of(index.shape(), std::move(result));
}

Values encode(Node& n, const Labels& keys, const Labels& values, const Default& otherwise) {
  const Value& x = n.in(0);
  n.check(!x.structure || is_strings(x), DiagnosticId::type_mismatch,
          fmt::format("X must be a tensor, found {}", describe(x)));
  n.check(keys.count() == values.count() && keys.count() > 0, DiagnosticId::bad_attribute,
          fmt::format("there are {} keys and {} values", keys.count(), values.count()));
  n.check(is_strings(x) == !keys.numbers, DiagnosticId::type_mismatch,
          fmt::format("X is {}, the keys are {}", describe(x), keys.numbers ? "numbers" : "strings"));
  if (n.failed()) return {};
  const Value at =
      is_strings(x) ? Value::of(Constant::of(dtype::i64, x.structure->shape, positions(keys.texts, x.structure->texts)))
                    : positions(n, x, *keys.numbers);
  if (!values.numbers) return {texts_at(n, at, values.texts, otherwise.text)};
  const DType type = values.numbers->dtype();
  Value last = n.reshape(n.cast(Value::of(otherwise.number), type), {Dim(1)});
  Value table = n.call("concatenate", {Value::of(*values.numbers), last}, {{"axis", 0}});
  return {n.call("take", {table, at}, {{"axis", 0}})};
}

Values convert_label_encoder(Node& n) {
  const Labels keys = labels(n, "keys"), values = labels(n, "values");
  const Default otherwise = default_value(n, values);
  return n.failed() ? Values{} : encode(n, keys, values, otherwise);
}

// The first version: strings and their positions, in both directions.
Values convert_label_positions(Node& n) {
  const Labels texts{true, n.texts("classes_strings").value_or(std::vector<std::string>{})};
  std::vector<int64_t> all(texts.count());
  for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
  const Labels numbers{true, {}, Constant::of(dtype::i64, {static_cast<int64_t>(all.size())}, all)};
  const bool to_numbers = is_strings(n.in(0));
  const Default otherwise = default_value(n, numbers);
  return to_numbers ? encode(n, texts, numbers, otherwise) : encode(n, numbers, texts, otherwise);
}

// Strings and integers, in both directions.
Values convert_category_mapper(Node& n) {
  const Labels texts{true, n.texts("cats_strings").value_or(std::vector<std::string>{})};
  const auto whole = n.integers("cats_int64s").value_or(std::vector<int64_t>{});
  const Labels numbers{true, {}, Constant::of(dtype::i64, {static_cast<int64_t>(whole.size())}, whole)};
  const Default otherwise = default_value(n, numbers);
  return is_strings(n.in(0)) ? encode(n, texts, numbers, otherwise) : encode(n, numbers, texts, otherwise);
}

}  // namespace

void add_ml_labels(Table& table) {
  table.add_with_structures({
      {"ai.onnx.ml.LabelEncoder", 1, "X", 1, 1, 1, convert_label_positions},
      {"ai.onnx.ml.LabelEncoder", 2, "X", 1, 1, 1, convert_label_encoder},
      {"ai.onnx.ml.CategoryMapper", 1, "X", 1, 1, 1, convert_category_mapper},
  });
  table.only_if("ai.onnx.ml.LabelEncoder", "strings are constants");
  table.only_if("ai.onnx.ml.CategoryMapper", "strings are constants");
}

}  // namespace dlcc::frontends::onnx
