// The passes that run over a module before LLVM generates its code.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace dlcc::targets {

// Loops are already in their final order, unrolled and vectorised, and move their pointers (emit_address.cpp). Loads
// stay where schedules put them: hoisted out of a loop over tiles, or kept from one tile for the next (by common
// subexpressions across stores), what a tile reads once would take a register from its accumulators.
void optimize(llvm::Module&, llvm::TargetMachine&);

}  // namespace dlcc::targets
