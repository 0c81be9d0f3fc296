// Sizes at which the checker of storage plans interprets a program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

using Sizes = std::map<std::string, int64_t>;  // by symbol

// Values of all symbols of a program. The caller's sizes are the smallest ones, and three sets of distinct larger ones,
// changed where requirements of equality determine sizes by others; if elements of inputs determine sizes, some samples
// come from small elements. For each of these, data-dependent sizes have their largest values, half of them, 0, and the
// values that requirements fix; sizes that steps compute differently also have different values, and sizes that
// branches define have the values of each arm.
std::vector<Sizes> sample_sizes(const Program&);

}  // namespace dlcc::lower
