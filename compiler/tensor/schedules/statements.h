// The schedule of a stage with a body: the body as it is, its vector loops strip-mined for the machine.
//
//   vector i in n: ..   becomes   for c in n div lanes: vector l in lanes: .. at c * lanes + l,   then the rest
#pragma once

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

Stmt schedule_body(const Stage&, const Machine&);

}  // namespace dlcc::tensor
