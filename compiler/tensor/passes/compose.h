// Composition of definitions: several tensor functions that feed each other become one, and stages that only rename or
// combine elements are inlined into their readers. This is what fusion means at the level of loops.
#pragma once

#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Where an operand comes from: result `index` of part `part`, or parameter `index` of the whole when part is -1.
struct Source {
  int part;
  int index;
};
struct Part {
  TensorFunction function;       // shares no variables or buffers with the other parts
  std::vector<Source> operands;  // one per parameter; parts come after those they read
};

// The function of `params` that computes `results`.
TensorFunction compose(std::string name, std::vector<Buffer> params, std::vector<Part> parts,
                       const std::vector<Source>& results);

// Inlines unreduced stages into the stages that read them, where that does not repeat expensive work and keeps sums of
// products recognisable; removes stages that nothing reads.
void inline_stages(TensorFunction&);

}  // namespace dlcc::tensor
