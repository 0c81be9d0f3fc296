// Hardware instructions as data (Exo): what an instruction means, where its operands must lie, and how to write it
// down. A schedule calls an intrinsic on boxes of buffers; the evaluator runs the semantic body, a target emits the
// instruction.
#pragma once

#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct Intrinsic {
  struct Operand {
    Buffer buffer;  // type, shape and scope that the operand must have; strides, if given, must match too
    Access access;  // read or write; an accumulator is `write` and is read by the body
  };
  std::string name;  // "x86.vpdpbusd"
  std::vector<Operand> operands;
  Stmt body;                                   // the meaning, over the operands' buffers
  std::vector<std::string> required_features;  // of the target, in LLVM's spelling
  std::string emission;                        // the target's rule, e.g. an LLVM intrinsic's name; empty: emit the body
};

// The body with the operands replaced by the boxes of a call.
Stmt inline_intrinsic(const IntrinsicCall&);

}  // namespace dlcc::tensor
