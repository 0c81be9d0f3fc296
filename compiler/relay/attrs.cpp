#include "relay/attrs.h"

#include <fmt/format.h>

#include <cmath>

#include "support/diagnostics.h"

namespace dlcc::relay {

AttrValue::AttrValue() = default;
AttrValue::AttrValue(bool b) : v(b) {}
AttrValue::AttrValue(int i) : v(int64_t{i}) {}
AttrValue::AttrValue(int64_t i) : v(i) {}
AttrValue::AttrValue(double d) : v(d) {}
AttrValue::AttrValue(const char* s) : v(std::string(s)) {}
AttrValue::AttrValue(std::string s) : v(std::move(s)) {}
AttrValue::AttrValue(AttrList l) : v(std::move(l)) {}
AttrValue::AttrValue(const std::vector<int64_t>& l) : v(AttrList(l.begin(), l.end())) {}
AttrValue::AttrValue(const AttrValue&) = default;
AttrValue::AttrValue(AttrValue&&) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue&) = default;
AttrValue& AttrValue::operator=(AttrValue&&) noexcept = default;
AttrValue::~AttrValue() = default;

bool operator==(const AttrValue& a, const AttrValue& b) { return a.v == b.v; }

static std::string number_text(double value) {
  if (std::isnan(value)) return "nanf";
  if (std::isinf(value)) return value < 0 ? "-inff" : "inff";
  return fmt::format("{}f", value);
}

std::string str(const MetaReference& r) { return fmt::format("meta[{}][{}]", r.type_key, r.index); }

std::string str(const AttrValue& value) {
  return std::visit(overloaded{[](std::monostate) { return std::string("None"); },
                               [](bool b) { return std::string(b ? "True" : "False"); },
                               [](int64_t i) { return fmt::format("{}", i); }, [](double d) { return number_text(d); },
                               [](const std::string& s) { return "\"" + s + "\""; },
                               [](const AttrList& list) {
                                 std::string text = "[";
                                 for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + str(list[i]);
                                 return text + "]";
                               },
                               [](const Dim& d) { return d.str(); }, [](const MetaReference& r) { return str(r); }},
                    value.v);
}

AttrValue sizes_attribute(const Shape& shape) {
  AttrList list;
  for (const Dim& d : shape) {
    AttrValue& item = list.emplace_back();
    if (d.is_constant())
      item.v = d.value();
    else
      item.v = d;
  }
  return list;
}

}  // namespace dlcc::relay
