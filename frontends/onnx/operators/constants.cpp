// Constant and ConstantOfShape.
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr const char* value_attributes[] = {"value",     "sparse_value", "value_float",  "value_floats",
                                            "value_int", "value_ints",   "value_string", "value_strings"};

template <class T>
Constant list(DType type, const std::vector<T>& values) {
  return Constant::of(type, {static_cast<int64_t>(values.size())}, values);
}

std::optional<Constant> constant_of(Node& n, const std::string& attribute) {
  if (attribute == "value") return n.tensor(attribute);
  if (attribute == "sparse_value") return n.sparse_tensor(attribute);
  if (attribute == "value_float")
    return Constant::of<float>(dtype::f32, {}, {static_cast<float>(n.number(attribute, 0))});
  if (attribute == "value_int") return Constant::of<int64_t>(dtype::i64, {}, {n.integer(attribute, 0)});
  if (attribute == "value_floats") return list(dtype::f32, n.numbers(attribute).value_or(std::vector<float>{}));
  return list(dtype::i64, n.integers(attribute).value_or(std::vector<int64_t>{}));
}

// The strings of a constant; empty for numbers.
std::optional<Value> strings_of(Node& n, const std::string& attribute) {
  if (attribute == "value_string") return onnx::strings_of({}, {n.text(attribute, "")});
  if (attribute == "value") return n.string_tensor(attribute);
  if (attribute != "value_strings") return std::nullopt;
  auto texts = n.texts(attribute).value_or(std::vector<std::string>{});
  return onnx::strings_of({static_cast<int64_t>(texts.size())}, texts);
}

Values convert_constant(Node& n) {
  std::vector<std::string> given;
  for (const char* name : value_attributes)
    if (n.has_attr(name)) given.push_back(name);
  if (!n.check(given.size() == 1, DiagnosticId::bad_attribute,
               fmt::format("there must be one value attribute, found {}", given.size())))
    return {};
  if (auto strings = strings_of(n, given[0])) return {*strings};
  auto constant = constant_of(n, given[0]);
  return constant ? Values{Value::of(*constant)} : Values{};
}

Values convert_constant_of_shape(Node& n) {
  std::optional<Constant> fill = n.has_attr("value") ? n.tensor("value") : Constant::of<float>(dtype::f32, {}, {0});
  if (!fill ||
      !n.check(fill->count() == 1, DiagnosticId::bad_attribute, "attribute 'value' must be a tensor of one element"))
    return {};
  Value scalar = Value::of(fill->reshaped({}));
  auto sizes = n.integers_in(0);
  for (int64_t size : sizes.value_or(std::vector<int64_t>{}))
    n.check(size >= 0, DiagnosticId::bad_attribute, fmt::format("a size is negative: {}", size));
  return {n.call("full", {scalar, n.in(0)}, {{"dtype", dtype_attr(fill->dtype())}})};
}

}  // namespace

void add_constants(Table& table) {
  table.add({
      {"Constant", 1, "", 0, 0, 1, convert_constant},
      {"ConstantOfShape", 9, "input", 1, 1, 1, convert_constant_of_shape},
  });
}

}  // namespace dlcc::frontends::onnx
