// Random programs whose sizes are symbolic.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

inline const Symbol n{"n", 1}, m{"m", 0};
inline const std::vector<InputDim> unbounded = {{"n", n}, {"m", m}};

// Sizes at which the programs are compared with others.
inline const std::map<std::string, int64_t> several_sizes[] = {
    {{"n", 1}, {"m", 0}}, {{"n", 1}, {"m", 3}}, {{"n", 2}, {"m", 1}}, {{"n", 5}, {"m", 2}}};

// The program that random_program.h makes of the seed, with its sizes scaled by 1, n, m or n * m. `dims` are its
// inputs' sizes n and m.
Program symbolic_program(uint32_t seed, const std::vector<InputDim>& dims);

int count_of_calls(const Program&);  // of functions

}  // namespace dlcc::lower
