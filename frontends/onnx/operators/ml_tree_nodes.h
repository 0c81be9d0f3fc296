// Reads the trees of ai.onnx.ml from their attributes.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/operators/ml_tree_table.h"

namespace dlcc::frontends::onnx {

// The trees of TreeEnsembleClassifier ("class") and TreeEnsembleRegressor ("target"), and those of TreeEnsemble, apart
// from the number of targets. Empty, with a report, when they are malformed.
std::optional<TreeEnsemble> read_named_trees(Node&, const std::string& kind);
std::optional<TreeEnsemble> read_numbered_trees(Node&);

// The elements of a list of floats, or of a tensor of floats; empty if there is none.
std::vector<double> reals_of(Node&, const std::string& list, const std::string& tensor);

}  // namespace dlcc::frontends::onnx
