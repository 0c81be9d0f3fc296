// Small applications of an operator, one for each element type that its type relation accepts. `dlcc ops --target`
// lowers them.
#pragma once

#include <map>

#include "relay/operator.h"

namespace dlcc::relay {

struct SampleCall {
  Attrs attrs;
  Operands operands;
};

// By the element type of the data: operands that are indices or conditions have types of their own. Empty when no
// application was found among the shapes and values that the search tries: extend them then.
std::map<DType, SampleCall> sample_calls(const Operator&);

}  // namespace dlcc::relay
