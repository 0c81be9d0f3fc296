// Values of which a loop writes one slice in each iteration.
#pragma once

#include "lower/program.h"

namespace dlcc::lower {

// The view through which a step of the loop's body, not of a region within, writes a slice of the value, and which is
// the loop's only use of the value. The slice is at a scalar, and slice 0 begins where the value does. -1: there is
// none.
ValueId written_slice(const Program&, const Function&, const Loop&, ValueId value);

// Whether the step writes all of the value, and has no other effect.
bool only_writes(const Program&, const Step&, ValueId value);

// Stores scan outputs whose number of slices is known only after the loop without copies:
//
//   @full(%3, n)                               loop i: i64 = 0 {
//   loop i: i64 = 0 {                          } while c {
//   } while c {                                  require i < n : index_out_of_range
//     require i < n : index_out_of_range         @exp(%0, %4)         # %4: view of %6 + 0 + (i) * 16
//     @exp(%0, %4)  # view of %3 at i * 16       next i + 1
//     next i + 1                               }
//   }                                          let k: i64 = i
//   let k: i64 = i
//   copy(%5, %6)    # %5: the first k slices of %3; %6: an output
//
// The loop counts from 0 by 1, and in each iteration writes the slice of a temporary at the counter, which its
// condition or a requirement bounds. Later steps read the slices that it has written, and no others: the first k, where
// a step after the loop defines the size k as the counter. Then the temporary needs no initial value. If a step of the
// outermost region copies the slices to an output whose memory for the largest k has all slices of the temporary, the
// loop writes them to the output.
//
// The rule for known trip counts is part of lowering loops, as such a temporary has all slices after the loop, and may
// take part in further optimizations.
void store_counted_slices(Program&);

}  // namespace dlcc::lower
