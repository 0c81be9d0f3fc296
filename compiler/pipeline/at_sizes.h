// A model with symbolic sizes, as runs at given sizes have it: for measurements and reports.
#pragma once

#include <map>
#include <string>

#include "pipeline/compile.h"

namespace dlcc {

// The model with numbers for the symbols of its program, storage plan and multiply-accumulates. The interface keeps its
// symbols, with these values as the typical sizes. Sizes that data decide are at their largest. A model without symbols
// stays as it is.
Planned at_sizes(Planned, const std::map<std::string, int64_t>& symbols);

}  // namespace dlcc
