// LLVM's IR passes, before instruction selection.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace dlcc::targets {

// Runs SROA, EarlyCSE, InstCombine and SimplifyCFG. Loops are already interchanged, unrolled, vectorized and strength
// reduced (emit_address.cpp). No pass moves loads: LICM, or GVN across stores, would keep a tile's operands in
// registers that its accumulators need.
void optimize(llvm::Module&, llvm::TargetMachine&);

}  // namespace dlcc::targets
