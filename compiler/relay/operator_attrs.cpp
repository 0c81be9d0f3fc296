#include "relay/operator_attrs.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/similar_names.h"

namespace dlcc::relay {

namespace detail {
namespace {

template <class T, class Out>
bool take(const AttrValue& value, Out& out) {
  const T* held = std::get_if<T>(&value.v);
  if (held) out = *held;
  return held != nullptr;
}

template <class T>
bool take_list(const AttrValue& value, std::vector<T>& out) {
  const AttrList* list = std::get_if<AttrList>(&value.v);
  out.clear();
  if (!list) return from_value(value, out.emplace_back());
  for (const AttrValue& item : *list)
    if (!from_value(item, out.emplace_back())) return false;
  return true;
}

}  // namespace

bool from_value(const AttrValue& v, bool& out) {
  if (const int64_t* i = std::get_if<int64_t>(&v.v)) {
    out = *i != 0;
    return true;
  }
  return take<bool>(v, out);
}
bool from_value(const AttrValue& v, int64_t& out) { return take<int64_t>(v, out); }
bool from_value(const AttrValue& v, double& out) { return take<double>(v, out) || take<int64_t>(v, out); }
bool from_value(const AttrValue& v, std::string& out) { return take<std::string>(v, out); }
bool from_value(const AttrValue& v, DType& out) {
  const std::string* text = std::get_if<std::string>(&v.v);
  auto type = text ? dtype_named(*text) : std::nullopt;
  if (type) out = *type;
  return type.has_value();
}
bool from_value(const AttrValue& v, Dim& out) { return take<Dim>(v, out) || take<int64_t>(v, out); }
bool from_value(const AttrValue& v, std::vector<int64_t>& out) { return take_list(v, out); }
bool from_value(const AttrValue& v, std::vector<double>& out) { return take_list(v, out); }
bool from_value(const AttrValue& v, std::vector<Dim>& out) { return take_list(v, out); }

namespace {

template <class T>
bool assign(const AttrValue& value, T& field) {
  return from_value(value, field);
}
bool assign(const AttrValue& value, AttrValue& field) {
  field = value;
  return true;
}
template <class T>
bool assign(const AttrValue& value, std::optional<T>& field) {
  if (!std::holds_alternative<std::monostate>(value.v)) return from_value(value, field.emplace());
  field.reset();
  return true;
}

// TVM writes "" or "void" for no element type.
bool assign(const AttrValue& value, std::optional<DType>& field) {
  const std::string* text = std::get_if<std::string>(&value.v);
  const bool is_void = text && (text->empty() || *text == "void");
  if (!is_void && !value.is_none()) return from_value(value, field.emplace());
  field.reset();
  return true;
}

template <class T>
AttrValue to_value(const T& v) {
  return v;
}
AttrValue to_value(const DType& v) { return std::string(name(v)); }
AttrValue to_value(const std::vector<double>& v) { return AttrList(v.begin(), v.end()); }
AttrValue to_value(const std::vector<Dim>& v) { return sizes_attribute(v); }
template <class T>
AttrValue to_value(const std::optional<T>& v) {
  return v ? to_value(*v) : AttrValue();
}

template <class T>
FieldType type_with_text(std::string text) {
  return {std::move(text), [](void* field, const AttrValue& v) { return assign(v, *static_cast<T*>(field)); },
          [](const void* field) { return to_value(*static_cast<const T*>(field)); }};
}

}  // namespace

#define FIELD_TYPE(text, ...)                                        \
  template <>                                                        \
  const FieldType& field_type<__VA_ARGS__>() {                       \
    static const FieldType type = type_with_text<__VA_ARGS__>(text); \
    return type;                                                     \
  }
FIELD_TYPE("bool", bool)
FIELD_TYPE("int", int64_t)
FIELD_TYPE("float", double)
FIELD_TYPE("string", std::string)
FIELD_TYPE("dtype", DType)
FIELD_TYPE("list of int", std::vector<int64_t>)
FIELD_TYPE("list of float", std::vector<double>)
FIELD_TYPE("list of dimensions", std::vector<Dim>)
FIELD_TYPE("int or None", std::optional<int64_t>)
FIELD_TYPE("dtype or None", std::optional<DType>)
FIELD_TYPE("list of int or None", std::optional<std::vector<int64_t>>)
FIELD_TYPE("list of dimensions or None", std::optional<std::vector<Dim>>)
FIELD_TYPE("value", AttrValue)
#undef FIELD_TYPE

static std::vector<std::string> names_of(const std::vector<AttrSlot>& slots) {
  std::vector<std::string> names;
  for (const AttrSlot& slot : slots) names.emplace_back(slot.name);
  return names;
}

static std::string remedy_for_attribute(const std::string& name, const std::vector<AttrSlot>& slots) {
  if (slots.empty()) return "the operator has no attributes";
  const std::vector<std::string> known = names_of(slots);
  const std::string meant = did_you_mean(name, known);
  return meant.empty() ? fmt::format("the attributes are: {}", fmt::join(known, ", ")) : meant;
}

// Whether the text has a name without quotes, which stands for a size.
static bool is_word(const AttrValue& value) {
  const Dim* d = std::get_if<Dim>(&value.v);
  return d && *d == size_symbol(d->str());
}

std::optional<TypeError> read_attrs(const std::vector<AttrSlot>& slots, const Attrs& attrs) {
  for (const auto& [name, value] : attrs) {
    auto slot = std::ranges::find(slots, name, &AttrSlot::name);
    if (slot == slots.end())
      return TypeError{DiagnosticId::bad_attribute, fmt::format("there is no attribute '{}'", name),
                       remedy_for_attribute(name, slots)};
    if (slot->is_operand && value.is_none()) continue;
    if (slot->is_operand)
      return TypeError{DiagnosticId::bad_attribute,
                       fmt::format("'{}' is given as an operand and as an attribute", name), "remove one of them"};
    if (!slot->type->assign(slot->field, value))
      return TypeError{DiagnosticId::bad_attribute,
                       fmt::format("attribute '{}' must be {}, found {}", name, slot->type->text, str(value)),
                       is_word(value) ? fmt::format("words are in quotes: {}=\"{}\"", name, str(value)) : ""};
  }
  for (const AttrSlot& slot : slots)
    if (slot.required && !attrs.contains(std::string(slot.name)))
      return TypeError{DiagnosticId::bad_attribute, fmt::format("attribute '{}' is missing", slot.name), ""};
  return std::nullopt;
}

}  // namespace detail

}  // namespace dlcc::relay
