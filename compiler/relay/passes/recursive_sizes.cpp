#include "relay/passes/recursive_sizes.h"

#include <fmt/format.h>

namespace dlcc::relay {

void report_changed_sizes(const std::map<std::string, Dim>& sizes, const SourceLocation& location,
                          Diagnostics* diagnostics) {
  if (!diagnostics) return;
  for (const auto& [name, size] : sizes)
    if (!(size == Dim::symbol({name})))
      diagnostics->error(DiagnosticId::dynamic_shape, location,
                         fmt::format("the recursive call changes the size {} to {}", name, size.str()), {},
                         "pass a tensor of the largest size, and the size that is in use as a number");
}

void report_size_of_result(const SourceLocation& location, Diagnostics* diagnostics) {
  if (!diagnostics) return;
  diagnostics->error(DiagnosticId::dynamic_shape, location,
                     "the recursive call defines a size of its result, so that the size does not follow from those of "
                     "the inputs",
                     {}, "return a tensor of the largest size, and the size that is in use as a number");
}

}  // namespace dlcc::relay
