// The activation functions that attributes name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

struct Activation {
  std::string name;  // of a function that exists, in lower case
  double alpha = 0, beta = 0;
};

// The attributes `activations`, `activation_alpha` and `activation_beta` of recurrent layers, for `directions` times
// the functions that `defaults` names. Each function takes the parameters that it has from the lists, in order;
// functions after the end of a list get their defaults.
std::vector<Activation> read_activations(Node&, size_t directions, const std::vector<std::string>& defaults);

// The function of a name, in any case. It takes the parameters that it has from the beginnings of the lists, which get
// shorter, and its defaults where a list has ended. Empty, with an error, if there is no such function, or no number
// for a parameter without default.
std::optional<Activation> find_activation(Node&, const std::string& name, std::span<const float>& alphas,
                                          std::span<const float>& betas);

Value activate(Node&, const Activation&, const Value&);

}  // namespace dlcc::frontends::onnx
