// Storage: a kernel over logical tensors becomes a kernel over what lies in memory.
#pragma once

#include <map>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Rewrites every access to the buffers in `layouts` through their index maps (the kernel's parameters are replaced by
// buffers of the physical shapes) and simplifies. Then makes every access safe: a load that is not provably inside its
// buffer reads 0 instead of memory outside, a store is guarded. Logical shapes must be static. Buffers that are not in
// the map are dense.
Kernel apply_layouts(const Kernel&, const std::map<Buffer, Layout>& layouts);

}  // namespace dlcc::tensor
