// Instantiates a model with symbolic sizes at given sizes, for measurements and reports.
#pragma once

#include <map>
#include <string>

#include "pipeline/compile.h"

namespace dlcc {

// The model with numbers for the symbols of its program, storage plan and multiply-accumulates. The interface keeps its
// symbols, with these values as the typical sizes. Data-dependent sizes have their largest values. A model without
// symbols is returned unchanged.
Planned at_sizes(Planned, const std::map<std::string, int64_t>& symbols);

}  // namespace dlcc
