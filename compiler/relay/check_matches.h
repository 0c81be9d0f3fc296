// Checks that a `match` has an arm for every value, and that every arm has a value.
#pragma once

#include "relay/ir.h"

namespace dlcc::relay {

// Reports an error, with a pattern of values that no arm fits, for each `match` that is not exhaustive, and a warning
// for each arm of `match` and `match?` that earlier arms make unreachable. After inference. False when a `match` is not
// exhaustive. The algorithm is that of Maranget, "Warnings for pattern matching" (2007), sections 3 and 5; it takes
// exponential time in the worst case, so that a match for which it needs more than a million steps passes unchecked.
bool check_matches(const Module&, Diagnostics&);

}  // namespace dlcc::relay
