// What the steps of a program refer to, and the end of what nothing refers to.
#pragma once

#include <functional>

#include "lower/program.h"

namespace dlcc::lower {

// Calls `visit` on every reference of the region's steps to a value, inner regions included; it may change them.
void for_each_value(Region&, const std::function<void(ValueId&)>& visit);

// Leaves of values, constants and kernels those that steps, inputs and outputs refer to, in their order; kernels in the
// order of their first calls.
void remove_unused(Program&);

}  // namespace dlcc::lower
