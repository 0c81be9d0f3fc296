// A Loop that carries sequences or optionals.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// The number of inputs of a Loop before the carried values: trip count and condition.
inline constexpr int before_carried = 2;

// The outputs of a Loop of which every iteration is imported separately. The lengths of the sequences depend on the
// number of iterations, which must therefore be known at compile time. The numbers of the body's inputs and outputs
// have been checked.
Values unrolled_loop(Node&, const schema::GraphProto& body);

}  // namespace dlcc::frontends::onnx
