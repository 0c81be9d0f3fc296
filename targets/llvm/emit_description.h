// Emits the constant P_model, which describes the model. It has the layout of dlcc_model, dlcc_tensor and dlcc_dim in
// runtime/include/dlcc/types.h.
#pragma once

#include "targets/llvm/emit_model.h"

namespace dlcc::targets {

// `run_ctx` is P_run_ctx. `plan` is P_plan, or null for static models.
void emit_description(llvm::Module&, const ModelParts&, llvm::Function* run_ctx, llvm::Function* plan);

}  // namespace dlcc::targets
