// Attributes as fields of plain structs: which types a field may have, and how attribute values become fields.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "relay/attrs.h"
#include "support/diagnostics.h"

namespace dlcc::relay {

// Why a type relation or an attribute list is rejected.
struct TypeError {
  DiagnosticId id;      // shape_mismatch, type_mismatch, bad_attribute, ...
  std::string message;  // expected and found, without the operands' types, which the caller prints
  std::string help;
};

// One attribute with the struct's type erased.
struct ErasedField {
  std::string name, type, doc;  // `type` in words: "int", "list of int or None"; for messages and `dlcc ops`
  AttrValue default_value;
  bool required = false;
  // Stores the value in the field of the struct at `attrs`. False when the value has another type.
  std::function<bool(const AttrValue&, void* attrs)> read;
};

// Stores the attributes in the struct at `out`, which holds the defaults. Attributes that do not exist, are missing or
// have values of another type are errors of id bad_attribute.
std::optional<TypeError> read_attrs(const std::vector<ErasedField>&, const Attrs&, void* out);

namespace detail {

// Conversions between an attribute's value and a field's type. `from_value` is false when the value has another type.
bool from_value(const AttrValue&, bool&);
bool from_value(const AttrValue&, int64_t&);
bool from_value(const AttrValue&, double&);  // also from an integer
bool from_value(const AttrValue&, std::string&);
bool from_value(const AttrValue&, DType&);
bool from_value(const AttrValue&, Dim&);
bool from_value(const AttrValue&, std::vector<int64_t>&);  // also from one integer
bool from_value(const AttrValue&, std::vector<Dim>&);
bool from_value(const AttrValue&, AttrValue&);
template <class T>
bool from_value(const AttrValue& value, std::optional<T>& out) {
  if (value.is_none()) {
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
AttrValue to_value(const AttrValue&);
template <class T>
AttrValue to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : AttrValue();
}

// The name of a field's type; the argument only selects the overload.
std::string type_text(const bool*);
std::string type_text(const int64_t*);
std::string type_text(const double*);
std::string type_text(const std::string*);
std::string type_text(const DType*);
std::string type_text(const std::vector<int64_t>*);
std::string type_text(const std::vector<Dim>*);
std::string type_text(const AttrValue*);
template <class T>
std::string type_text(const std::optional<T>*) {
  return type_text(static_cast<const T*>(nullptr)) + " or None";
}

}  // namespace detail

// An attribute as a field of an operator's plain struct A. A field is a bool, int64_t, double, std::string, DType,
// std::vector<int64_t>, std::vector<Dim>, or std::optional of these (None). An AttrValue takes any value; the type
// relation checks it. The default is the field's initializer.
template <class A>
struct Field : ErasedField {
  template <class T, class Base>  // A, or the base of it that declares the field
  Field(std::string name, T Base::*member, std::string doc, bool required = false)
      : ErasedField{std::move(name),
                    detail::type_text(static_cast<const T*>(nullptr)),
                    std::move(doc),
                    detail::to_value(A{}.*member),
                    required,
                    [member](const AttrValue& value, void* attrs) {
                      return detail::from_value(value, static_cast<A*>(attrs)->*member);
                    }} {}
};

}  // namespace dlcc::relay
