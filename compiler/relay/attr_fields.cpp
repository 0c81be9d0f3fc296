#include "relay/attr_fields.h"

#include <algorithm>

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

template <class T>
AttrValue list_value(const std::vector<T>& values) {
  AttrList list;
  for (const T& v : values) list.push_back(AttrValue(v));
  return list;
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
bool from_value(const AttrValue& v, std::vector<Dim>& out) { return take_list(v, out); }
bool from_value(const AttrValue& v, AttrValue& out) {
  out = v;
  return true;
}

AttrValue to_value(bool v) { return v; }
AttrValue to_value(int64_t v) { return v; }
AttrValue to_value(double v) { return v; }
AttrValue to_value(const std::string& v) { return v; }
AttrValue to_value(DType v) { return std::string(name(v)); }
AttrValue to_value(const std::vector<int64_t>& v) { return list_value(v); }
AttrValue to_value(const std::vector<Dim>& v) {
  AttrList list;
  for (const Dim& d : v) {
    AttrValue& item = list.emplace_back();
    if (d.is_constant())
      item.v = d.value();
    else
      item.v = d;
  }
  return list;
}
AttrValue to_value(const AttrValue& v) { return v; }

std::string type_text(const bool*) { return "bool"; }
std::string type_text(const int64_t*) { return "int"; }
std::string type_text(const double*) { return "float"; }
std::string type_text(const std::string*) { return "string"; }
std::string type_text(const DType*) { return "dtype"; }
std::string type_text(const std::vector<int64_t>*) { return "list of int"; }
std::string type_text(const std::vector<Dim>*) { return "list of dimensions"; }
std::string type_text(const AttrValue*) { return "value"; }

}  // namespace detail

std::optional<TypeError> read_attrs(const std::vector<ErasedField>& fields, const Attrs& attrs, void* out) {
  auto error = [](std::string message) { return TypeError{DiagnosticId::bad_attribute, std::move(message), ""}; };
  for (const auto& [name, value] : attrs) {
    auto field = std::ranges::find(fields, name, &ErasedField::name);
    if (field == fields.end()) return error(fmt::format("there is no attribute '{}'", name));
    if (!field->read(value, out))
      return error(fmt::format("attribute '{}' must be {}, found {}", name, field->type, str(value)));
  }
  for (const ErasedField& field : fields)
    if (field.required && !attrs.contains(field.name))
      return error(fmt::format("attribute '{}' is missing", field.name));
  return std::nullopt;
}

}  // namespace dlcc::relay
