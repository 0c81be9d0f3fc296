// Compares the engines on one program: scheduled kernels and objects must compute what the definitions of the imported
// module do.
#pragma once

#include <string>
#include <vector>

#include "support/dtype.h"

namespace dlcc {

struct RandomInput {
  DType type;
  std::vector<int64_t> shape;
};

// What differs on random inputs, exceptions included; empty if nothing does. The target and the options follow from the
// seed.
std::string difference_of_engines(unsigned seed, const std::string& text, const std::vector<RandomInput>&);

}  // namespace dlcc
