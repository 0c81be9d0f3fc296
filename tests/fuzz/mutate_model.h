// Mutations of ONNX models that keep them well-formed: fields change, not bytes, so that most mutations pass the parser
// and test the importer and the later stages.
#pragma once

#include <random>

#include "frontends/onnx/schema.h"

namespace dlcc {

// Changes one field somewhere in the model: a number, a name, an operator, an element or the order of a list.
void mutate(frontends::onnx::schema::ModelProto&, std::mt19937&);

}  // namespace dlcc
