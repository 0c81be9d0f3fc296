// Which operator sets permit which element types: most operators got types after their first version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/dtype.h"

namespace dlcc::frontends::onnx {

// The first operator set in which input number `input` of an operator may have the type, if the operator exists since
// an earlier one; empty for a type that the input always had or never had. Operators of other domains than the default
// one have qualified names.
std::optional<int64_t> operator_set_with_type(const std::string& op, int input, DType);

}  // namespace dlcc::frontends::onnx
