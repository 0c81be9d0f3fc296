// Errors about the sizes of recursive calls, for which memory would have no bound.
#pragma once

#include "relay/ir.h"

namespace dlcc::relay {

// Reports each size that a recursive call changes. `sizes` has the sizes at the call by the names that the function has
// for them.
inline void report_changed_sizes(const std::map<std::string, Dim>& sizes, const SourceLocation& location,
                                 Diagnostics* diagnostics) {
  for (const auto& [name, size] : sizes)
    if (!(size == Dim::symbol({name})) && diagnostics)
      diagnostics->error(DiagnosticId::dynamic_shape, location,
                         fmt::format("the recursive call changes the size {} to {}", name, size.str()), {},
                         "pass a tensor of the largest size, and the size that is in use as a number");
}

// Reports a recursive call of a function that defines a size of its result.
inline void report_size_of_result(const SourceLocation& location, Diagnostics* diagnostics) {
  if (diagnostics)
    diagnostics->error(
        DiagnosticId::dynamic_shape, location,
        "the recursive call defines a size of its result, so that the size does not follow from those of "
        "the inputs",
        {}, "return a tensor of the largest size, and the size that is in use as a number");
}

}  // namespace dlcc::relay
