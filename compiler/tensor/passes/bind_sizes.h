// Numbers in place of symbols: a kernel or a definition for one set of sizes.
#pragma once

#include <map>
#include <string>

#include "tensor/ir.h"

namespace dlcc::tensor {

using Sizes = std::map<std::string, int64_t>;  // by the symbol's name

// The kernel with its symbols replaced by numbers, in shapes and in expressions. They are no scalar parameters of the
// result. Every symbol of the kernel has a size.
Kernel bind_sizes(const Kernel&, const Sizes&);

// The definition with some of its symbols replaced by numbers, or by dims over other symbols.
TensorFunction bind_sizes(const TensorFunction&, const std::map<std::string, Dim>&);

}  // namespace dlcc::tensor
