// The activation functions that attributes name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

struct Activation {
  std::string name;  // in lower case
  double alpha = 0, beta = 0;
};

// The attributes `activations`, `activation_alpha` and `activation_beta` of recurrent layers, for `directions` times
// the functions that `defaults` names. Each function takes the parameters that it has from the lists, in order;
// functions after the end of a list get their defaults.
std::vector<Activation> read_activations(Node&, size_t directions, const std::vector<std::string>& defaults);

// The function that the attribute `activation` names, with the parameters `activation_alpha` and `activation_beta`;
// empty, with an error, if there is no such function.
std::optional<Activation> read_activation(Node&);

Value activate(Node&, const Activation&, const Value&);

}  // namespace dlcc::frontends::onnx
