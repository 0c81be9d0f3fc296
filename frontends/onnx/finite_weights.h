// Finds weights that are NaN or infinite, for instance after a training run that diverged.
#pragma once

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::onnx {

// Warns of elements that are NaN or infinite. A tensor whose finite elements are all 0, such as an attention mask, may
// have infinite elements.
void warn_if_not_finite(const Constant&, const SourceLocation&, Diagnostics&);

}  // namespace dlcc::frontends::onnx
