// Definitions of single results of operators with several results, such as the parts of a split.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "relay/operator.h"

namespace dlcc::relay {

class ResultDefinitions {
 public:
  // A function that computes result `index` of a call. It shares variables with no other function of this class, unless
  // it is a function of the same result and shares none either. The time for all results of a call is linear in the
  // stages of its definition, if no two results need the same stage.
  tensor::TensorFunction definition(const Binding& call, const Operands& types, size_t index);

 private:
  // For each result of a call, by the call's variable; empty if its stages are not its own, or after it was taken.
  std::map<int, std::vector<std::optional<tensor::TensorFunction>>> apart_;
};

}  // namespace dlcc::relay
