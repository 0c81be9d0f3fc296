// Substitutes sizes for symbols: a kernel or a definition for one set of sizes.
#pragma once

#include <map>
#include <string>

#include "tensor/ir.h"

namespace dlcc::tensor {

using Sizes = std::map<std::string, int64_t>;  // by the symbol's name

// The kernel with its symbols replaced by numbers in shapes and expressions, and without their scalar parameters. Every
// symbol of the kernel must have a size.
Kernel bind_sizes(const Kernel&, const Sizes&);

// The kernel with its symbols replaced by dims over other symbols, for which it gets scalar parameters instead.
Kernel bind_sizes(const Kernel&, const std::map<std::string, Dim>&);

// The definition with some of its symbols replaced by numbers, or by dims over other symbols.
TensorFunction bind_sizes(const TensorFunction&, const std::map<std::string, Dim>&);

}  // namespace dlcc::tensor
