// The schedule of a stage with a body of statements: the body is kept, and its vector loops are strip-mined for the
// machine.
//
//   vector i in n: ..   becomes   for c in n div lanes: vector l in lanes: .. at c * lanes + l,   then the rest
#pragma once

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

Stmt schedule_body(const Stage&, const Machine&);

}  // namespace dlcc::tensor
