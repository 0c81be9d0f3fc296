// Attributes of operators and functions: a sorted list of named values, as the text format writes them. An operator
// declares a plain struct and a table of its fields (operator.h); only importers use an attribute's name elsewhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shape/dim.h"
#include "support/dtype.h"

namespace dlcc::relay {

struct AttrValue;

// An object of the metadata section: meta[VirtualDevice][0].
struct MetaReference {
  std::string type_key;
  int64_t index = 0;
  bool operator==(const MetaReference&) const = default;
};

using AttrList = std::vector<AttrValue>;

// None, bool, integer, float, string, list, object of the metadata section. A data type is a string ("float32"); a
// symbolic dimension is a Dim.
struct AttrValue {
  std::variant<std::monostate, bool, int64_t, double, std::string, AttrList, Dim, MetaReference> v;

  // All members are defined out of line: std::variant's are slow to compile, and every operator's file has attributes.
  AttrValue();
  AttrValue(bool);                         // NOLINT
  AttrValue(int);                          // NOLINT
  AttrValue(int64_t);                      // NOLINT
  AttrValue(double);                       // NOLINT
  AttrValue(const char*);                  // NOLINT
  AttrValue(std::string);                  // NOLINT
  AttrValue(AttrList);                     // NOLINT
  AttrValue(const std::vector<int64_t>&);  // NOLINT
  AttrValue(const AttrValue&);
  AttrValue(AttrValue&&) noexcept;
  AttrValue& operator=(const AttrValue&);
  AttrValue& operator=(AttrValue&&) noexcept;
  ~AttrValue();

  bool is_none() const { return std::holds_alternative<std::monostate>(v); }

  friend bool operator==(const AttrValue&, const AttrValue&);
};

using Attrs = std::map<std::string, AttrValue>;

AttrValue sizes_attribute(const Shape&);  // a list of sizes: integers where they are known

std::string str(const MetaReference&);
std::string str(const AttrValue&);  // as the text format writes it: 1, 1f, "x", True, None, [1, 2]

}  // namespace dlcc::relay
