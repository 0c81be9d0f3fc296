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

static void write(const AttrValue& value, std::string& out) {
  std::visit(overloaded{[&](std::monostate) { out += "None"; }, [&](bool b) { out += b ? "True" : "False"; },
                        [&](int64_t i) { out += fmt::format("{}", i); }, [&](double d) { out += number_text(d); },
                        [&](const std::string& s) { out += "\"" + s + "\""; },
                        [&](const AttrList& list) {
                          out += '[';
                          for (size_t i = 0; i < list.size(); ++i) {
                            if (i) out += ", ";
                            write(list[i], out);
                          }
                          out += ']';
                        },
                        [&](const Dim& d) { out += d.str(); }, [&](const MetaReference& r) { out += str(r); }},
             value.v);
}

std::string str(const AttrValue& value) {
  std::string text;
  write(value, text);
  return text;
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
