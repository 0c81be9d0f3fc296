// Sizes that satisfy a program's requirements of equality, such as total == past + seq of a model with a cache: samples
// and estimates need sizes at which a run is possible.
#pragma once

#include <map>
#include <set>
#include <string>

#include "lower/program.h"

namespace dlcc::lower {

// Changes sizes that are known before a run, but for those of the symbols `fixed`, so that requirements of equality
// hold where the others determine them. `sizes` has all symbols of `dims` and `input_sizes`; they stay in their bounds.
void satisfy_equalities(const Program&, const std::set<std::string>& fixed, std::map<std::string, int64_t>& sizes);

}  // namespace dlcc::lower
