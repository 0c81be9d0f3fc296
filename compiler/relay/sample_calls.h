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

// The sample calls by element type of the data; operands that are indices or conditions have other types. Empty if the
// search finds no valid call among the shapes and attribute values that it tries, and the operator gives none
// (OperatorSpec::sample_shapes). Empty for an operator that has a type only.
std::map<DType, SampleCall> sample_calls(const Operator&);

}  // namespace dlcc::relay
