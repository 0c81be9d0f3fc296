// Spills of general registers within loops, counted after register allocation.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace llvm {
class Pass;
}  // namespace llvm

namespace dlcc::targets {

// Spill and reload instructions within loops of a function; each counts once for every loop around it. Vector registers
// are not counted: outlining does not reduce the spills of a register tile's accumulators.
struct Spills {
  int64_t stores = 0, loads = 0;
  auto operator<=>(const Spills&) const = default;
};

// A machine pass that adds each function's spills to `of_function`, by name. It must run before stack slots are
// colored. Functions without spills get no entry.
llvm::Pass* make_spill_counter(std::map<std::string, Spills>& of_function);

}  // namespace dlcc::targets
