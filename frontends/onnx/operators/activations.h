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
// `defaults` names. Functions take the numbers that they need from the lists in order, then their defaults.
std::vector<Activation> read_activations(Node&, size_t directions, const std::vector<std::string>& defaults);

Value activate(Node&, const Activation&, const Value&);

}  // namespace dlcc::frontends::onnx
