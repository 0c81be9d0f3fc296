// Errors about the sizes of recursive calls, for which memory would have no bound.
#pragma once

#include <map>
#include <string>

#include "relay/ir.h"

namespace dlcc::relay {

// Reports each size that a recursive call changes; `sizes` are those at the call, by the names that the function has
// for them. Null diagnostics: reports nothing.
void report_changed_sizes(const std::map<std::string, Dim>& sizes, const SourceLocation&, Diagnostics*);

// Reports a recursive call of a function that defines a size of its result.
void report_size_of_result(const SourceLocation&, Diagnostics*);

}  // namespace dlcc::relay
