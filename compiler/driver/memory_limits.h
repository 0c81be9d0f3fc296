// The memory that a model may need on a device: --max-ram and --max-flash.
#pragma once

#include <cstdint>
#include <optional>

#include "driver/command_line.h"
#include "pipeline/compile.h"

namespace dlcc::driver {

// In bytes; empty: no limit.
struct MemoryLimits {
  std::optional<int64_t> ram;    // of the arena and the stack
  std::optional<int64_t> flash;  // of the object's code and read-only data
};

void add_memory_limits(CommandLine&, MemoryLimits&);

// Whether the model keeps within the limits; else an error that names the step and the buffers, or the weights, that
// need most. Code generation has set the interface's stack_bytes.
bool check_memory_limits(const MemoryLimits&, const Planned&, const targets::ObjectSizes&, Diagnostics&);

}  // namespace dlcc::driver
