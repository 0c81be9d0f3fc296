#include "relay/op_support/axis_order.h"

#include <algorithm>

namespace dlcc::relay {

Failure check_axis_order(const char* attribute, const std::string& layout, const std::string& own) {
  if (std::ranges::is_permutation(layout, own)) return std::nullopt;
  return TypeError{DiagnosticId::unsupported_attribute,
                   fmt::format("{} must have the axes of \"{}\" in some order, found \"{}\"", attribute, own, layout),
                   ""};
}

AxisOrder::AxisOrder(const std::string& layout, const std::string& own) {
  for (char axis : own) axes_.push_back(static_cast<int64_t>(layout.find(axis)));
}

bool AxisOrder::is_own() const { return std::ranges::is_sorted(axes_); }

std::vector<int64_t> inverse_order(const std::vector<int64_t>& order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t k = 0; k < order.size(); ++k) inverse[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  return inverse;
}

}  // namespace dlcc::relay
