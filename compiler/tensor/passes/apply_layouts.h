// Rewrites a kernel over logical tensors to one over physical tensors, the arrays in memory.
#pragma once

#include <map>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Replaces the kernel's parameters by buffers of their physical shapes, applies the layouts' index maps to every
// access, and simplifies. Loads whose indices are not provably in range become predicated loads that give 0; such
// stores get a condition. Logical shapes must be static. Buffers that are not in `layouts` are dense.
Kernel apply_layouts(const Kernel&, const std::map<Buffer, Layout>& layouts);

}  // namespace dlcc::tensor
