// Parses the text form of tensor IR (docs/TENSOR_IR.md). For printed text, print(parse(text)) == text.
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

// Parses and verifies; empty, with diagnostics, on failure. `file` is the file in source locations. Intrinsic calls may
// name the intrinsics in `known`, which must outlive the result.
std::optional<ParsedTensorIr> parse(std::string_view text, const std::string& file, Diagnostics&,
                                    std::span<const Intrinsic* const> known = {});

}  // namespace dlcc::tensor
