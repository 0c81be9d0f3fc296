// A Loop that carries sequences or optionals.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// The outputs of a Loop, each iteration of which is imported: the number of iterations decides the lengths of the
// sequences, so that it must be known at compile time. The body's inputs and outputs have been counted.
Values unrolled_loop(Node&, const schema::GraphProto& body);

}  // namespace dlcc::frontends::onnx
