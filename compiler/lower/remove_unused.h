// Removes the scalars, values, constants and kernels that nothing refers to.
#pragma once

#include "lower/program.h"

namespace dlcc::lower {

// Removes steps that define scalars without use, or that store temporaries that nothing reads. Keeps the values and
// constants that steps, inputs, outputs or views of kept values refer to, in their order, and the kernels that are
// called, in the order of their first calls.
void remove_unused(Program&);

}  // namespace dlcc::lower
