// Bounds of dims under assumptions. Internal to compiler/shape: Dim and Facts are the interface.
#pragma once

#include <optional>
#include <vector>

#include "shape/dim.h"

namespace dlcc {

// The greatest number that is proved not to exceed `d` for all values of the symbols for which every dim of
// `nonnegative` is at least 0; empty if there is none.
std::optional<int64_t> lower_bound(const Dim& d, const std::vector<Dim>& nonnegative);

// Whether this number is at least `bound`: as soon as that is proved, the search for a better one ends.
bool is_at_least(const Dim& d, int64_t bound, const std::vector<Dim>& nonnegative);

}  // namespace dlcc
