// The references of an interpreted program, and the collection of those that nothing can reach.
//
// Values are counted (std::shared_ptr), which frees all but cycles. Only a reference can be changed after it was made,
// so every cycle has one: a function in a reference that captures this reference, for instance.
#pragma once

#include <memory>
#include <vector>

#include "relay/value.h"

namespace dlcc::relay {

class References {
 public:
  // A new reference. collect() runs first if the references have become more than twice those that the last run left,
  // and the values that it found alive: its time is then in proportion to the number of new references, and the number
  // of dead values to that of the living ones.
  Value create(Value contents);

  // Frees the values that only cycles keep alive: empties each reference that is reached from no value with another
  // owner than the values that references reach, such as a variable of the interpreter.
  void collect();

 private:
  std::vector<std::weak_ptr<ValueNode>> all_;
  size_t collect_at_ = 1024;  // the number of references at which they are collected
};

}  // namespace dlcc::relay
