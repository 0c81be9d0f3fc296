// Evaluates floats only where they are used, on CPUs without floating-point instructions.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// Generated code evaluates both arms of a select. If one of them has float arithmetic and the other one has not, a
// branch is faster, since each operation on floats is a call: the select becomes a register buffer that either arm is
// stored to. For selects in stored values that are in no arm of another one. Sub-expressions that a condition and its
// arms share are bound to variables before the branch.
Stmt branch_around_floats(const Stmt&);

}  // namespace dlcc::tensor
