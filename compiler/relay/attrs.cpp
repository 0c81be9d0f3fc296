// The text of attribute values.
#include "relay/attrs.h"

#include <fmt/format.h>

#include <cmath>

#include "support/diagnostics.h"

namespace dlcc::relay {

static std::string number_text(double value) {
  if (std::isnan(value)) return "nanf";
  if (std::isinf(value)) return value < 0 ? "-inff" : "inff";
  return fmt::format("{}f", value);
}

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
                               [](const Dim& d) { return d.str(); }},
                    value.v);
}

}  // namespace dlcc::relay
