// The activation functions of recurrent layers.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

struct Activation {
  std::string name;  // in lower case
  double alpha = 0, beta = 0;
};

// The attributes `activations`, `activation_alpha` and `activation_beta`, for `directions` times the functions that
// `defaults` names. Each function takes the parameters that it has from the lists, in order; functions after the end of
// a list get their defaults.
std::vector<Activation> read_activations(Node&, size_t directions, const std::vector<std::string>& defaults);

Value activate(Node&, const Activation&, const Value&);

}  // namespace dlcc::frontends::onnx
