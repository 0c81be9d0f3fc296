// The values of a function's symbols at a call.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shape/dim.h"

namespace dlcc {

// The value of the symbol for which `d` is `value`. `d` must be linear in the symbol; its other symbols have the values
// `known` or, if they are not among those, mean in `value` what they mean in `d`. Empty if the solution is not an
// integer for all values of the symbols in it.
std::optional<Dim> solve_for(const Symbol&, const Dim& d, const Dim& value, const std::map<std::string, Dim>& known);

// A dimension of a parameter's type, which may have symbols of the callee, and the argument's dimension in its place.
struct DimPair {
  Dim param, argument;
};

// Adds the values of the symbols for which the parameters' dimensions are the arguments': from dimensions that are a
// single symbol, then from those with one symbol without value that are linear in it, such as n - 4, or that have the
// argument's form, such as n * n where the argument has m * m. If 2 * n is to be m, which may be odd, n is
// floor_div(m, 2). The first pair that determines a symbol decides; the caller compares the dimensions. Symbols for
// which `quantified` is false keep their meaning.
void match_sizes(const std::vector<DimPair>&, const std::function<bool(const std::string&)>& quantified,
                 std::map<std::string, Dim>& sizes);

}  // namespace dlcc
