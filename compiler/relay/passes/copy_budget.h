// A limit of the operations that a pass copies: the copies of functions that call each other twice grow exponentially.
#pragma once

#include <string>

#include "relay/ir.h"
#include "support/diagnostics.h"

namespace dlcc::relay {

class CopyBudget {
 public:
  // The error is "<what> more than N operations". `diagnostics` may be null.
  CopyBudget(Diagnostics* diagnostics, std::string what, std::string help)
      : diagnostics_(diagnostics), what_(std::move(what)), help_(std::move(help)) {}

  // Counts a copy of the function for a call at `location`. False, after one error, if the limit is exceeded.
  bool may_copy(const Function&, const SourceLocation& location);

 private:
  static constexpr int64_t most_operations = int64_t{1} << 18;

  Diagnostics* diagnostics_;
  std::string what_, help_;
  int64_t copied_ = 0;
};

}  // namespace dlcc::relay
