// The number of iterations that the condition of a loop allows, where it compares a counter with a size:
//
//   %next = add(%k, 2);                 // %k is carried, 1 before the loop
//   %again = less(%next, %n);           // the loop goes on after iteration i only if 3 + 2 * i < n
//
// TensorFlow's exporters write all loops in this form, with the largest integer as the trip count.
#pragma once

#include <optional>

#include "frontends/onnx/builder.h"

namespace dlcc::frontends::onnx {

// A loop whose iteration is the builder's current block.
struct LoopValues {
  Value counter;                  // the number of the iteration, from 0 on
  Values carried, initial, next;  // the carried values in, before and after an iteration
  int first_symbol;               // symbols of unknown sizes from this one on are defined in an iteration
};

// An upper bound of the number of iterations: `again`, a bool of rank 0, is computed in each iteration and says whether
// another one may follow. Empty if no bound is found. Counters are assumed not to overflow.
std::optional<Dim> most_iterations(const BlockBuilder&, const LoopValues&, const Value& again);

}  // namespace dlcc::frontends::onnx
