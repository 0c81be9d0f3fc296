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
  // The rule of targets that have the features. Others emit the body, as all do where there is none.
  //   "call NAME"  calls a C function. It gets a pointer to each box, behind it the strides of the box's dimensions but
  //                the last, in elements, as int64_t; it returns nothing.
  //   "llvm.NAME"  is LLVM's intrinsic of this name. The operands are its registers, boxes of one dimension; the one
  //   that
  //                is written is its first argument and its result.
  std::string emission;
};

// The body with the operands replaced by the boxes of a call.
Stmt inline_intrinsic(const IntrinsicCall&);

}  // namespace dlcc::tensor
