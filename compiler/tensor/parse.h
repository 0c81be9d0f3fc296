// Reads the text form of tensor functions and kernels (docs/TENSOR_IR.md); print(parse(text)) == text for printed text.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct ParsedTensorIr {
  std::vector<TensorFunction> functions;
  std::vector<Kernel> kernels;
};

// `file` names the text in diagnostics. Verifies what it read. Calls may name the intrinsics of the table `known`,
// which must outlive the result.
std::optional<ParsedTensorIr> parse(std::string_view text, const std::string& file, Diagnostics&,
                                    std::span<const Intrinsic* const> known = {});

}  // namespace dlcc::tensor
