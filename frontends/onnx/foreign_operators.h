// What other frameworks call the operators of ONNX.
#pragma once

#include <string_view>
#include <utility>

namespace dlcc::frontends::onnx {

// The operator of ONNX for an operator or layer that another framework calls `name`, in any spelling of the words:
// "Conv" for "conv2d", "aten::conv_2d" or "Conv2D"; and what else is to be written, or "". Two empty texts for a name
// that is not known here.
std::pair<std::string_view, std::string_view> find_foreign_operator(std::string_view name);

}  // namespace dlcc::frontends::onnx
