// Which operands of kernels may share memory: the storage plan decides, the emitter must not promise otherwise.
#pragma once

#include <vector>

#include "lower/program.h"

namespace dlcc::targets {

// For every kernel and parameter: in some call its memory overlaps that of another operand, one of which is written.
std::vector<std::vector<bool>> find_aliases(const lower::Program&, const lower::StoragePlan&);

}  // namespace dlcc::targets
