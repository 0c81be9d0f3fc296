// From the graph to a program: every call of a tensor function is scheduled and becomes a destination-passing kernel
// call, control flow becomes a region tree, reshapes become views, constants are packed as their kernels want them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lower/program.h"
#include "relay/ir.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::lower {

// Tells what the schedule of a function is to choose; the hash is the request's.
using Chooser = std::function<tensor::TuningConfig(const tensor::ScheduleRequest&, uint64_t hash)>;

// Lowers @main of a module that check_module accepts, in which operators were fused into tensor functions. One kernel
// variant is made for every machine. Empty, with diagnostics, for language constructs that have no native code. Without
// a chooser all schedules follow the machines' estimates, and calls have no hashes.
std::optional<Program> lower(const relay::Module&, const std::vector<tensor::Machine>& machines,
                             const tensor::ScheduleOptions&, Diagnostics&, const Chooser& = {});

}  // namespace dlcc::lower
