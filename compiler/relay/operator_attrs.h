// Reading attributes into the fields of operators' structs (included by operator.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/attrs.h"
#include "support/diagnostics.h"
#include "tensor/ir.h"

namespace dlcc::relay {

// The reason why a type relation rejects a call.
struct TypeError {
  DiagnosticId id;      // shape_mismatch, type_mismatch, bad_attribute, ...
  std::string message;  // expected and found, without the operands' types, which the caller prints
  std::string help;
  // Two sizes that must be equal and may be, although this is not proved: a match_cast of an operand can check it.
  std::optional<std::pair<Dim, Dim>> unproved = {};
  // That of a run whose sizes and values have this error; the definition requires the opposite.
  tensor::Status status = tensor::Status::shape_mismatch;
};

namespace detail {

// Reads a value as a field's type; false when it has another one. An integer is also a bool or a double, and one
// integer a list of it.
bool from_value(const AttrValue&, bool&);
bool from_value(const AttrValue&, int64_t&);
bool from_value(const AttrValue&, double&);
bool from_value(const AttrValue&, std::string&);
bool from_value(const AttrValue&, DType&);
bool from_value(const AttrValue&, Dim&);
bool from_value(const AttrValue&, std::vector<int64_t>&);
bool from_value(const AttrValue&, std::vector<double>&);
bool from_value(const AttrValue&, std::vector<Dim>&);

// The operations on a field of one type, which is passed by address.
struct FieldType {
  std::string text;  // "int", "float", "list of int", ... for messages and `dlcc ops`
  bool (*assign)(void* field, const AttrValue&);
  AttrValue (*value)(const void* field);
};
template <class T>
const FieldType& field_type();  // defined for the types that `Field` lists

// A field of one struct.
struct AttrSlot {
  std::string_view name;
  bool required;
  const FieldType* type;
  void* field;
  bool is_operand = false;  // the call has an operand instead
};

// Assigns the attributes to the fields of their names; fields without attribute keep their values.
std::optional<TypeError> read_attrs(const std::vector<AttrSlot>&, const Attrs&);

}  // namespace detail
}  // namespace dlcc::relay
