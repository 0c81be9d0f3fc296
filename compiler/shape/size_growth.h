// Bounds of a size that changes in every iteration of a loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "shape/dim.h"

namespace dlcc {

// The size after an iteration is at most max(size before it + increment, least). So after t iterations it is at most
// max(first, least) + t * increment.
struct SizeGrowth {
  Dim increment = 0;  // at least 0
  Dim least = 0;
  bool operator==(const SizeGrowth& other) const { return increment == other.increment && least == other.least; }
};

// Bounds the growth from `size`, a symbol, to `after`. `is_inner` tells whether a dim depends on symbols of the
// iteration, `size` among them; the result has none of these. `largest` has upper bounds of such symbols other than
// `size`, which may depend on each other. Empty if no bound is found: for 2 * size, for instance.
std::optional<SizeGrowth> size_growth(const Dim& after, const Dim& size, const std::map<std::string, Dim>& largest,
                                      const std::function<bool(const Dim&)>& is_inner);

}  // namespace dlcc
