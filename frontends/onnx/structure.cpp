#include "frontends/onnx/structure.h"

#include <algorithm>

#include "frontends/onnx/node.h"
#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {
namespace {

Value value_of(Structure structure) {
  Value value = Value::poison();
  value.poisoned = false;
  value.structure = std::make_shared<const Structure>(std::move(structure));
  return value;
}

bool is(const Value& value, Structure::Kind kind) { return value.structure && value.structure->kind == kind; }

}  // namespace

Value sequence_of(Values elements) {
  return value_of({.kind = Structure::Kind::sequence, .elements = std::move(elements)});
}

Value optional_of(Values element) {
  return value_of({.kind = Structure::Kind::optional, .elements = std::move(element)});
}

Value strings_of(std::vector<int64_t> shape, std::vector<std::string> texts) {
  return value_of({.kind = Structure::Kind::strings, .shape = std::move(shape), .texts = std::move(texts)});
}

std::optional<Value> strings_in(const schema::TensorProto& tensor) {
  if (tensor.data_type() != schema::TensorProto::STRING) return std::nullopt;
  std::vector<std::string> texts(tensor.string_data().begin(), tensor.string_data().end());
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  int64_t count = 1;
  for (int64_t size : shape) count = size < 0 || count > INT32_MAX ? -1 : count * size;
  return count == static_cast<int64_t>(texts.size()) ? std::optional(strings_of(std::move(shape), std::move(texts)))
                                                     : std::nullopt;
}

bool is_sequence(const Value& value) { return is(value, Structure::Kind::sequence); }
bool is_optional(const Value& value) { return is(value, Structure::Kind::optional); }
bool is_strings(const Value& value) { return is(value, Structure::Kind::strings); }

std::string describe(const Value& value) {
  if (!value.structure) return describe(value.type);
  const size_t count = value.structure->elements.size();
  if (is_sequence(value)) return fmt::format("a sequence of {} tensor{}", count, count == 1 ? "" : "s");
  if (is_optional(value))
    return count == 0 ? "an absent optional" : "an optional with " + describe(value.structure->elements[0]);
  return fmt::format("strings [{}]", fmt::join(value.structure->shape, ", "));
}

Values tensors_in(const Values& values) {
  Values tensors;
  for (const Value& value : values) {
    if (!value.structure) {
      tensors.push_back(value);
      continue;
    }
    const Values inner = tensors_in(value.structure->elements);
    tensors.insert(tensors.end(), inner.begin(), inner.end());
  }
  return tensors;
}

bool same_structure(const Value& a, const Value& b) {
  if (!a.structure || !b.structure) return !a.structure && !b.structure;
  return a.structure->kind == b.structure->kind && a.structure->shape == b.structure->shape &&
         a.structure->texts == b.structure->texts &&
         std::ranges::equal(a.structure->elements, b.structure->elements, same_structure);
}

Value with_tensors(const Value& value, const std::function<Value()>& next) {
  if (!value.structure) return next();
  Structure structure = *value.structure;
  for (Value& element : structure.elements) element = with_tensors(element, next);
  return value_of(std::move(structure));
}

}  // namespace dlcc::frontends::onnx
