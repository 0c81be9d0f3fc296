// Walks over the steps of a region in the order of the program's text: the steps of inner regions come after the branch
// or loop that they belong to.
#pragma once

#include <functional>

#include "lower/program.h"

namespace dlcc::lower {

void for_each_step(const Region&, const std::function<void(const Step&)>& visit);

// Calls `visit` on the kernel calls alone.
void for_each_call(const Region&, const std::function<void(const Invoke&)>& visit);
void for_each_call(Region&, const std::function<void(Invoke&)>& visit);

// Calls `visit` on every reference of a step to a value: operands and conditions.
void for_each_value(Region&, const std::function<void(ValueId&)>& visit);

}  // namespace dlcc::lower
