// Tree ensembles as the tables of Relay's operator ml.tree_ensemble, whose nodes compare with <= only.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// How an inner node compares a feature with its value, numbered as in ai.onnx.ml.TreeEnsemble; `member`: with a set.
enum class TreeMode { less_equal, less, greater_equal, greater, equal, not_equal, member, leaf };

struct TreeNode {
  TreeMode mode = TreeMode::leaf;
  int64_t feature = 0;
  double value = 0;
  std::vector<double> members = {};  // of the set
  size_t if_true = 0, if_false = 0;  // children
  bool missing_is_true = false;      // whether NaN fulfils the condition
  // The weights of a leaf and the targets that they are for.
  std::vector<std::pair<int64_t, double>> weights = {};
};

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<size_t> roots;
  int64_t targets = 1;
};

// The operands of ml.tree_ensemble after the data, and its attribute has_missing_values. Thresholds have type `data`,
// weights type `weight`. Empty, with a report, when the trees have a cycle.
struct TreeTables {
  Values operands;
  bool has_missing_values = false;
};
std::optional<TreeTables> tree_tables(Node&, const TreeEnsemble&, DType data, DType weight);

// Whether every row reaches a leaf with a weight for this target.
bool always_has_weight(const TreeEnsemble&, int64_t target);

}  // namespace dlcc::frontends::onnx
