// Finds the inputs of a model that decide how long a sequence is, or whether an optional is present.
#pragma once

#include <set>
#include <string>

#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

// The tensors that nodes of the graph use as sizes of the pieces of SplitToSequence, as positions in sequences, and as
// counts and conditions where sequences or optionals are carried or chosen.
std::set<std::string> names_that_decide_structures(const schema::GraphProto&);

}  // namespace dlcc::frontends::onnx
