// Lowers Relay text and compares: it is fused, laid out and lowered, its storage plan is checked, and the evaluated
// program is compared with the evaluated module.
#pragma once

#include <string>
#include <vector>

#include "frontends/frontend.h"
#include "lower/lower.h"
#include "lower/walk.h"

namespace dlcc::lower {

extern const std::vector<tensor::Machine> machines;

relay::Module after_passes(relay::Module, const std::vector<std::string>& names);

// The number of steps of one kind, in all regions.
template <class Kind>
size_t count_of(const Program& program) {
  size_t count = 0;
  for_each_step(program.body, [&](const Step& s) { count += std::holds_alternative<Kind>(s); });
  return count;
}

// The lowered program, after its results were compared. Inputs are of type float32, bool or int64, symbolic sizes are 4.
Program lowered(const std::string& text);

}  // namespace dlcc::lower
