// Probabilities of several classes from those of each pair: Wu, Lin, Weng, "Probability Estimates for Multi-class
// Classification by Pairwise Coupling", 2004, algorithm 2, as LIBSVM and onnxruntime iterate it.
#pragma once

#include <utility>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// From [rows, pairs], the probability of the first class of each pair against the second one, to [rows, classes].
Value coupled_probabilities(Node&, const Value& of_pairs, const std::vector<std::pair<size_t, size_t>>& pairs,
                            size_t classes);

}  // namespace dlcc::frontends::onnx
