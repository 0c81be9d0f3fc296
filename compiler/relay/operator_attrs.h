// Reading attributes into operators' structs (included by operator.h).
#pragma once

namespace dlcc::relay::detail {

// Conversions between an attribute's value and a field's type. `from_value` is false when the value has another type.
bool from_value(const AttrValue&, bool&);
bool from_value(const AttrValue&, int64_t&);
bool from_value(const AttrValue&, double&);  // also from an integer
bool from_value(const AttrValue&, std::string&);
bool from_value(const AttrValue&, DType&);
bool from_value(const AttrValue&, Dim&);
bool from_value(const AttrValue&, std::vector<int64_t>&);  // also from one integer
bool from_value(const AttrValue&, std::vector<Dim>&);
inline bool from_value(const AttrValue& value, AttrValue& out) {
  out = value;
  return true;
}
template <class T>
bool from_value(const AttrValue& value, std::optional<T>& out) {
  if (std::holds_alternative<std::monostate>(value.v)) {
    out.reset();
    return true;
  }
  return from_value(value, out.emplace());
}

AttrValue to_value(bool);
AttrValue to_value(int64_t);
AttrValue to_value(double);
AttrValue to_value(const std::string&);
AttrValue to_value(DType);
AttrValue to_value(const std::vector<int64_t>&);
AttrValue to_value(const std::vector<Dim>&);
inline AttrValue to_value(const AttrValue& value) { return value; }
template <class T>
AttrValue to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : AttrValue();
}

template <class T>
std::string type_text(const T*);  // "int", "float", "list of int", ... for messages and `dlcc ops`
template <>
std::string type_text(const bool*);
template <>
std::string type_text(const int64_t*);
template <>
std::string type_text(const double*);
template <>
std::string type_text(const std::string*);
template <>
std::string type_text(const DType*);
template <>
std::string type_text(const std::vector<int64_t>*);
template <>
std::string type_text(const std::vector<Dim>*);
template <>
inline std::string type_text(const AttrValue*) {
  return "value";
}
template <class T>
std::string type_text(const std::optional<T>*) {
  return type_text(static_cast<const T*>(nullptr)) + " or None";
}

template <class A>
Operator::Attribute describe(const Field<A>& field) {
  const A defaults{};
  return std::visit(
      [&](auto pointer) {
        return Operator::Attribute{field.name, type_text(&(defaults.*pointer)), field.doc, to_value(defaults.*pointer),
                                   field.required};
      },
      field.pointer);
}

template <class A>
std::optional<TypeError> read_attrs(const std::vector<Field<A>>& fields, const Attrs& attrs, A& out) {
  for (const auto& [name, value] : attrs) {
    auto field = std::find_if(fields.begin(), fields.end(), [&](const Field<A>& f) { return f.name == name; });
    if (field == fields.end())
      return TypeError{DiagnosticId::bad_attribute, fmt::format("there is no attribute '{}'", name), ""};
    bool ok = std::visit([&](auto pointer) { return from_value(value, out.*pointer); }, field->pointer);
    if (!ok)
      return TypeError{DiagnosticId::bad_attribute,
                       fmt::format("attribute '{}' must be {}, found {}", name, describe(*field).type, str(value)), ""};
  }
  for (const Field<A>& field : fields)
    if (field.required && !attrs.contains(field.name))
      return TypeError{DiagnosticId::bad_attribute, fmt::format("attribute '{}' is missing", field.name), ""};
  return std::nullopt;
}

}  // namespace dlcc::relay::detail
