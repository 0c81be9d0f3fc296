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
  // A new reference. From time to time the others are collected: when there are some more new ones than values that the
  // last collection found alive. So the time of collections and the number of dead values stay in proportion to the new
  // and the living ones.
  Value create(Value contents);

  // Empties the references that are referred to only by values which are reached from such references alone. These
  // values are freed. What the caller, or the stack of the interpreter, holds stays.
  void collect();

 private:
  std::vector<std::weak_ptr<ValueNode>> all_;
  size_t collect_at_ = 1024;  // the number of references at which they are collected
};

}  // namespace dlcc::relay
