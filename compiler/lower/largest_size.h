// The largest values of sizes that data decide.
#pragma once

#include <map>
#include <string>

#include "lower/program.h"

namespace dlcc::lower {

// Whether the program has sizes that are not numbers.
bool has_symbols(const Program&);

// An upper bound of the size over the symbols that the caller gives: symbols that data decide are replaced by their
// largest values, or by 0 where the size falls with them. Memory is planned for it.
Dim largest_size(const Program&, const Dim&);

// The values of all symbols if those that the caller gives have these values, and those that data decide their largest
// ones.
std::map<std::string, int64_t> with_largest_data_sizes(const Program&, std::map<std::string, int64_t> given);

}  // namespace dlcc::lower
