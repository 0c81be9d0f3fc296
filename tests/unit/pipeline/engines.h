// Compares the engines on one program: scheduled kernels and objects must give the results of the imported module's
// definitions.
#pragma once

#include <string>
#include <vector>

#include "support/constant.h"
#include "support/dtype.h"

namespace dlcc {

struct RandomInput {
  DType type;
  std::vector<int64_t> shape;
};

// Describes the first difference on random inputs, exceptions included; empty if the engines agree. The seed determines
// the target and the options.
std::string difference_of_engines(unsigned seed, const std::string& text, const std::vector<RandomInput>&);

// The status of a run in the interpreter and in all engines, as a number: "0" is ok. If they differ, all of them.
std::string status_of_engines(const std::string& text, const std::vector<Constant>& inputs);

}  // namespace dlcc
