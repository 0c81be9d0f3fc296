// Which operators a target has code for, and with which element types: found by lowering a small application of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/operator.h"
#include "support/diagnostics.h"

namespace dlcc {

struct OperatorSupport {
  const relay::Operator* op;
  std::vector<DType> types;  // of the data, in the order of dtype.def
};

// Empty, with a diagnostic, when there is no such target.
std::optional<std::vector<OperatorSupport>> operator_support(const std::string& target, Diagnostics&);

}  // namespace dlcc
