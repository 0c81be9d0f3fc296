// Finds weights that are no numbers, such as those of a training run that diverged.
#pragma once

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::onnx {

// Warns of elements that are NaN or infinite. A tensor whose finite elements are all 0, such as a mask of attention,
// may have infinite ones.
void warn_if_not_finite(const Constant&, const SourceLocation&, Diagnostics&);

}  // namespace dlcc::frontends::onnx
