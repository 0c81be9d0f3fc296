// Inference at the end of a pass that changes types.
#pragma once

#include "relay/passes/passes.h"

namespace dlcc::relay {

// Infers the types of the module, whose variables may have annotations or none. Sizes that cannot be proved equal any
// more are checked at run time (match_cast). What cannot be inferred is reported to the context's diagnostics.
inline bool infer_again(Module& module, PassContext& context) {
  Diagnostics ignored;
  return infer_types(module, context.diagnostics ? *context.diagnostics : ignored);
}

}  // namespace dlcc::relay
