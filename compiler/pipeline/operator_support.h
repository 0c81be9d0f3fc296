// The operators and element types that a target supports, found by lowering a small call of each operator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/operator.h"
#include "support/diagnostics.h"

namespace dlcc {

struct OperatorSupport {
  const relay::Operator* op;
  std::vector<DType> types;  // supported element types of the data, in the order of dtype.def
};

// Empty, with a diagnostic, when there is no such target.
std::optional<std::vector<OperatorSupport>> operator_support(const std::string& target, Diagnostics&);

}  // namespace dlcc
