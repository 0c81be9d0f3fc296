// Lowers a graph to a program. Every call of a tensor function is scheduled and becomes a kernel call, control flow
// becomes a tree of regions, reshapes and contiguous slices become views, calls of global functions are inlined.
// Constants are stored in the packing that their kernels read.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lower/program.h"
#include "relay/ir.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::lower {

// Gives the tuning configuration of a schedule; `hash` is tensor::hash_of the request.
using Configure = std::function<tensor::TuningConfig(const tensor::ScheduleRequest&, uint64_t hash)>;

// Lowers @main of a module that check_module accepts and whose operators have been fused into tensor functions. Each
// kernel has one variant per machine. Empty, with diagnostics, for language constructs that have no native code.
// Without `configure`, schedules follow the machines' estimates and calls have the request hash 0. `jobs`: the number
// of threads that schedule kernels; the program does not depend on it.
std::optional<Program> lower(const relay::Module&, const std::vector<tensor::Machine>& machines,
                             const tensor::ScheduleOptions&, Diagnostics&, const Configure& = {}, int jobs = 1);

}  // namespace dlcc::lower
