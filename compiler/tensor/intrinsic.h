// Hardware instructions as data (Ikarashi et al., "Exocompilation for Productive Programming of Hardware Accelerators",
// PLDI 2022): the semantics of an instruction, the memory of its operands, and its emission. A schedule calls an
// intrinsic on boxes of buffers. The evaluator runs the body, a target emits the instruction.
#pragma once

#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct Intrinsic {
  struct Operand {
    Buffer buffer;  // the type, shape and scope that the operand must have, and its strides unless empty
    Access access;  // read or write; an accumulator is `write`, and the body reads it too
  };
  std::string name;  // "x86.vpdpbusd"
  std::vector<Operand> operands;
  Stmt body;                                   // the semantics, over the operands' buffers
  std::vector<std::string> required_features;  // of the target, in LLVM's spelling
  // The emission on targets that have the features. Other targets emit the body, and so do all if this is empty.
  //   "call NAME"  calls a C function that returns nothing. For each box, it gets a pointer to the first element, then
  //                the strides of all dimensions but the last, in elements, as int64_t.
  //   "llvm.NAME"  is LLVM's intrinsic of this name. Its operands are boxes of one dimension, in registers; the operand
  //                that is written is its first argument and its result.
  //   "byte products"  is emitted by rules of the target (tensor/byte_products.h).
  //   "tile transpose" is emitted as exchanges between vectors (tensor/tile_transpose.h).
  std::string emission;
};

// The buffer of an operand with these strides.
Buffer make_operand(const char* name, DType, Shape, std::vector<int64_t> strides, Scope);

// Whether a box of the buffer can be this operand of an intrinsic: the type, the scope and the strides agree. The
// operand's dimensions are the last ones of the buffer, whose other dimensions may have symbolic extents.
bool fits_operand(const BufferNode& buffer, const BufferNode& operand);

// The intrinsic's body with the operands replaced by the boxes of the call.
Stmt inline_intrinsic(const IntrinsicCall&);

}  // namespace dlcc::tensor
