// Bounds of dims under assumptions. Internal to compiler/shape: Dim and Facts are the interface.
#pragma once

#include <optional>
#include <vector>

#include "shape/dim.h"

namespace dlcc {

// The greatest number that is proved not to exceed `d` for all values of the symbols for which every dim of
// `nonnegative` is at least 0; empty if there is none.
std::optional<int64_t> lower_bound(const Dim& d, const std::vector<Dim>& nonnegative);

}  // namespace dlcc
