// Recognizes the local functions that are loops.
#pragma once

#include <optional>

#include "relay/ir.h"

namespace dlcc::relay {

// The parts of a recursive function whose body ends in an `if`. One branch of the `if` ends in a call of the function,
// which is its only use; the other branch ends the loop.
struct TailRecursion {
  const If* branch;
  const Block* repeat;  // the block that ends in the call
  const Block* finish;
  const Call* next;
  bool continues_if;  // the value of the branch's condition for which the loop goes on
};

// `self` is the id of the variable that is bound to the function.
std::optional<TailRecursion> tail_recursion(const Function&, int self);

}  // namespace dlcc::relay
