// The slots in which the interpreter stores the variables of a function's activation.
#pragma once

#include <unordered_map>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// The slots of a function's variables. Most variables of a function have consecutive ids, so that their slots are found
// without a search.
class Slots {
 public:
  // Gives the variable the next slot, if it has none. Returns whether it had none.
  bool add(int id);
  size_t at(int id) const {  // the variable must have a slot
    const auto index = static_cast<size_t>(id - first_);
    return id >= first_ && index < near_.size() && near_[index] >= 0 ? static_cast<size_t>(near_[index]) : far_.at(id);
  }
  size_t size() const { return count_; }

 private:
  static constexpr int most_unused = 64;  // ids in a row that `near_` has no slots for

  int first_ = 0;          // the id of near_[0]
  std::vector<int> near_;  // -1: no slot, or one in `far_`
  std::unordered_map<int, size_t> far_;
  size_t count_ = 0;
};

// An activation has one slot for each variable that its function binds and for each variable that it captures.
struct FunctionSlots {
  Slots slot;                 // by variable
  std::vector<int> captured;  // variables of enclosing functions that are used here or in a nested function
  int self = -1;              // the captured variable that is the function itself
  bool has_symbols = false;   // a type in it has symbols, or sizes are checked or defined
  bool is_of_prelude = false;
};

// For every function of the module, local ones included.
std::unordered_map<const Function*, FunctionSlots> assign_slots(const Module&);

}  // namespace dlcc::relay
