// Finds the inputs of a model whose values must be known at compile time: those that decide how long a sequence is,
// whether an optional is present, or the size of a Fourier transform.
#pragma once

#include <set>
#include <string>

#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

// The tensors that nodes of the graph use as sizes of the pieces of SplitToSequence, as positions in sequences, and as
// counts and conditions where sequences or optionals are carried or chosen; and the lengths, steps and axes of
// transforms whose results have other sizes than their operands.
std::set<std::string> names_that_decide(const schema::GraphProto&);

}  // namespace dlcc::frontends::onnx
