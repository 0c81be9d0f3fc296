// Messages of Relay operators in the words of the ONNX standard.
#pragma once

#include <string>

#include "frontends/onnx/builder.h"
#include "relay/operator.h"

namespace dlcc::frontends::onnx {

// The error of a call of `op` with these operands, translated: Relay's names of operands ("tensor_a", "the data")
// become the standard's names of the node's inputs ("A", "X"), and names of Relay operators and attributes become ONNX
// names.
relay::TypeError in_words_of_onnx(const relay::TypeError&, const relay::Operator& op, const Values& operands);

}  // namespace dlcc::frontends::onnx
