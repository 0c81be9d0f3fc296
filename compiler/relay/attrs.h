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
using AttrList = std::vector<AttrValue>;

// None, bool, integer, float, string, list. A data type is a string ("float32"); a symbolic dimension is a Dim.
struct AttrValue {
  std::variant<std::monostate, bool, int64_t, double, std::string, AttrList, Dim> v;

  AttrValue() = default;
  AttrValue(bool b) : v(b) {}                                                    // NOLINT
  AttrValue(int i) : v(int64_t{i}) {}                                            // NOLINT
  AttrValue(int64_t i) : v(i) {}                                                 // NOLINT
  AttrValue(double d) : v(d) {}                                                  // NOLINT
  AttrValue(const char* s) : v(std::string(s)) {}                                // NOLINT
  AttrValue(std::string s) : v(std::move(s)) {}                                  // NOLINT
  AttrValue(AttrList l) : v(std::move(l)) {}                                     // NOLINT
  AttrValue(const std::vector<int64_t>& l) : v(AttrList(l.begin(), l.end())) {}  // NOLINT

  friend bool operator==(const AttrValue&, const AttrValue&) = default;
};

using Attrs = std::map<std::string, AttrValue>;

std::string str(const AttrValue&);  // as the text format writes it: 1, 1f, "x", True, None, [1, 2]

}  // namespace dlcc::relay
