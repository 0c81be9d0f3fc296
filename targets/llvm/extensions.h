// Extension levels (CodeLevel::is_extension): which kernels have code of their own, and whether a program needs them.
#pragma once

#include "lower/program.h"
#include "targets/target.h"

namespace dlcc::targets {

// The level whose code kernel `kernel` runs on CPUs of level `level`: the first one, if the kernel has one variant for
// all; the nearest level before it, if it is an extension without effect on the kernel; else the same level.
size_t level_of_kernel(const lower::Program&, const Target&, size_t kernel, size_t level);

// Removes the levels, with the kernels' variants for them, that are extensions which no kernel uses.
void remove_unused_extensions(lower::Program&, Target&);

}  // namespace dlcc::targets
