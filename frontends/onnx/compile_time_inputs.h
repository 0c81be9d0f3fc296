// Finds the inputs of a model whose values must be known at compile time, because the length of a sequence, the
// presence of an optional or the size of a Fourier transform depends on them.
#pragma once

#include <set>
#include <string>

#include "frontends/onnx/schema.h"

namespace dlcc::frontends::onnx {

// The names of tensors that nodes use in one of these ways: as sizes of the pieces of SplitToSequence; as positions in
// sequences; as trip count or condition of a Loop or If with sequences or optionals; as length, step or axis of a
// transform whose result has another size than its operand.
std::set<std::string> compile_time_inputs(const schema::GraphProto&);

}  // namespace dlcc::frontends::onnx
