// Solves for the sizes that the caller gives, from the shapes of the inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shape/input_dim.h"

namespace dlcc {

// An axis of size scale * symbol + offset: the size determines the value of the symbol.
struct LinearAxis {
  Symbol symbol;
  int64_t scale, offset;  // the scale is positive
};
std::optional<LinearAxis> as_linear(const Dim&);  // empty if the dim does not have this form

// An input's declared shape, which may have symbols, and the shape that it has in a run.
struct GivenShape {
  std::string name;
  Shape declared;
  std::vector<int64_t> actual;  // of the same rank
};

// The values of the symbols of `dims`, by name: each from the first axis that is linear in it alone. Empty if the
// shapes disagree, if a symbol is out of its bounds or if no axis gives its value; `problem` then names the axes and
// inputs.
std::optional<std::map<std::string, int64_t>> solve_sizes(const std::vector<InputDim>& dims,
                                                          const std::vector<GivenShape>& inputs, std::string& problem);

}  // namespace dlcc
