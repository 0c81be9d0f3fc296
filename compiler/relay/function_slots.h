// The slots in which the interpreter stores the variables of a function's activation.
#pragma once

#include <unordered_map>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// An activation has one slot for each variable that its function binds and for each variable that it captures.
struct FunctionSlots {
  std::unordered_map<int, int> slot;  // by variable
  std::vector<int> captured;          // variables of enclosing functions that are used here or in a nested function
  int self = -1;                      // the captured variable that is the function itself
  bool has_symbols = false;           // a type in it has symbols, or sizes are checked or defined
};

// For every function of the module, local ones included.
std::unordered_map<const Function*, FunctionSlots> assign_slots(const Module&);

}  // namespace dlcc::relay
