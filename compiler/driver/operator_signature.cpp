#include "driver/operator_signature.h"

#include <fmt/format.h>

namespace dlcc::driver {

std::string operator_signature(const relay::Operator& op) {
  std::string text = op.name + "(";
  for (size_t k = 0; k < op.arguments.size(); ++k)
    text += (k ? ", " : "") + op.arguments[k] + (op.variadic ? "..." : "");
  for (const auto& a : op.attributes)
    text += fmt::format("{}{}={}", text.back() == '(' ? "" : ", ", a.name,
                        a.required ? "<" + a.type + ">" : relay::str(a.default_value));
  return text + ")";
}

}  // namespace dlcc::driver
