// Code sharing for -Os: kernels that differ in sizes only become one.
#pragma once

#include "lower/program.h"

namespace dlcc::lower {

// Two convolutions of like shape have kernels with the same loops and statements, whose extents, shapes and offsets
// differ. Such kernels become one kernel, to which each call gives its sizes as scalars. Sizes in a constant proportion
// share a scalar: the 24 rows and 32 channels of one kernel and the 12 rows and 16 channels of another one are 6 * s
// and 8 * s for s = 4 and 2. So what divides all of them, and with it the alignment of loads, stays known.
//
// Kernels stay apart if they have symbols of their own or are different on several CPU levels, and if passing the
// scalars would take more code than a second kernel. Kernels that are not called any more are left to remove_unused().
void share_kernels(Program&);

}  // namespace dlcc::lower
