// Runs a program's entry: computes the sizes that depend on elements of inputs.
#pragma once

#include <functional>

#include "lower/sample_sizes.h"
#include "support/constant.h"

namespace dlcc::lower {

// Adds the values of the program's input sizes to `sizes`, which has the values of its dims. `element` gives the
// element, of rank 0, that a Read step reads. Returns the status of a requirement that does not hold, else ok.
tensor::Status run_entry(const Program&, Sizes& sizes, const std::function<Constant(const Read&)>& element);

// A number as a constant of rank 0; 1 for a bool that is not 0.
Constant small_number(DType, int64_t);

}  // namespace dlcc::lower
