// Sizes at which the checker of storage plans interprets a program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

using Sizes = std::map<std::string, int64_t>;  // by symbol

// Values of all symbols of a program: the smallest ones, three sets of distinct larger ones, and some that small
// elements of the inputs lead to, where these decide sizes. For each of these,
// sizes that data decide are at their largest, half of it, 0, and what requirements demand, and those that branches
// define have the values of either arm.
std::vector<Sizes> sample_sizes(const Program&);

}  // namespace dlcc::lower
