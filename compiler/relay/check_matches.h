// Checks that each `match` is exhaustive, and that none of its arms is redundant.
#pragma once

#include "relay/ir.h"

namespace dlcc::relay {

// Reports an error, with a pattern of values that no arm fits, for each `match` that is not exhaustive, and a warning
// for each arm of `match` and `match?` that earlier arms make unreachable. After inference. False when a `match` is not
// exhaustive. The algorithm is from Maranget, "Warnings for pattern matching" (2007), sections 3 and 5; it takes
// exponential time in the worst case, so a match that needs more than a million steps is accepted unchecked.
bool check_matches(const Module&, Diagnostics&);

}  // namespace dlcc::relay
