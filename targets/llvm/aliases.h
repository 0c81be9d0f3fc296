// Which parameters of kernels may alias, according to the storage plan: they must not be `noalias`.
#pragma once

#include <vector>

#include "lower/plan.h"
#include "lower/program.h"

namespace dlcc::targets {

// For every kernel and parameter: whether in some call its operand overlaps another one and one of the two is written.
std::vector<std::vector<bool>> find_aliases(const lower::Program&, const lower::StoragePlan&);

}  // namespace dlcc::targets
