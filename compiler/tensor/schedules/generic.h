// The schedule for everything that no other one takes: stage after stage, vectorised along the innermost storage
// dimension, reductions in register accumulators.
#pragma once

#include <map>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// The loops of one stage. `layouts` tells how results are stored (absent: dense); operands may be stored in any way.
Stmt schedule_stage(const Stage&, const std::map<Buffer, Layout>& layouts, const Machine&);

}  // namespace dlcc::tensor
