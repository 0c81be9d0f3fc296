// Small applications of an operator, found by asking its type relation: with which element types it can be applied at
// all. `dlcc ops --target` lowers them.
#pragma once

#include <map>

#include "relay/operator.h"

namespace dlcc::relay {

struct SampleCall {
  Attrs attrs;
  Operands operands;
};

// By the element type of the data: operands that are indices or conditions have types of their own. Empty when no
// application was found among the few shapes and values that are tried, which is a gap of the search.
std::map<DType, SampleCall> sample_calls(const Operator&);

}  // namespace dlcc::relay
