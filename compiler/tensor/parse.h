// Reads the text form of tensor functions and kernels (docs/TENSOR_IR.md); print(parse(text)) == text for printed text.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct ParsedTensorIr {
  std::vector<TensorFunction> functions;
  std::vector<Kernel> kernels;
};

// `file` names the text in diagnostics. Verifies what it read.
std::optional<ParsedTensorIr> parse(std::string_view text, const std::string& file, Diagnostics&);

}  // namespace dlcc::tensor
