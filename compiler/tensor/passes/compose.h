// Composition of definitions, which is fusion at the level of tensor IR: tensor functions that read each other's
// results become one function, and stages without reduction are inlined into their readers.
#pragma once

#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The source of an operand: result `index` of part `part`, or parameter `index` of the composed function if part is -1.
struct Source {
  int part;
  int index;
};
struct Part {
  TensorFunction function;       // shares no variables and no buffers with the other parts
  std::vector<Source> operands;  // one per parameter, of earlier parts
};

// The function with parameters `params` that runs the parts in order and returns `results`.
TensorFunction compose(std::string name, std::vector<Buffer> params, std::vector<Part> parts,
                       const std::vector<Source>& results);

// A copy of a cheap source (tensor/analysis.h) that shares no variables and no buffers with it.
TensorFunction copy_source(const TensorFunction&);

// Inlines stages without reduction into the stages that read them, unless that would repeat expensive work, or change a
// factor of a contraction into something other than a load. Removes stages that nothing reads.
void inline_stages(TensorFunction&);

}  // namespace dlcc::tensor
