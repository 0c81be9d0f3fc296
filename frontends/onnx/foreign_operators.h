// Names of ONNX operators in other frameworks.
#pragma once

#include <string_view>
#include <utility>

namespace dlcc::frontends::onnx {

// The operator of ONNX for an operator or layer that another framework calls `name`, in any spelling of the words:
// "Conv" for "conv2d", "aten::conv_2d" or "Conv2D"; and an addition to the suggestion, or "". Both texts are empty for
// an unknown name.
std::pair<std::string_view, std::string_view> find_foreign_operator(std::string_view name);

}  // namespace dlcc::frontends::onnx
