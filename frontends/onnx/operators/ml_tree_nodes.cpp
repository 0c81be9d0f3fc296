#include "frontends/onnx/operators/ml_tree_nodes.h"

#include <algorithm>
#include <map>

namespace dlcc::frontends::onnx {

std::vector<double> reals_of(Node& n, const std::string& list, const std::string& tensor) {
  std::vector<double> values;
  if (!list.empty())
    if (auto floats = n.numbers(list)) values.assign(floats->begin(), floats->end());
  if (auto constant = n.tensor(tensor))
    for (int64_t k = 0; k < constant->count(); ++k) values.push_back(constant->number_at(k));
  return values;
}

namespace {

std::vector<int64_t> integer_list(Node& n, const std::string& name) {
  return n.integers(name).value_or(std::vector<int64_t>{});
}

bool check_size(Node& n, const std::string& name, size_t found, size_t expected) {
  return n.check(found == expected, DiagnosticId::bad_attribute,
                 fmt::format("attribute '{}' must have {} entries, found {}", name, expected, found));
}

std::optional<TreeMode> mode_of(const std::string& name) {
  static constexpr const char* names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                          "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  const auto at = std::ranges::find(names, name);
  return at == std::end(names) || name == "BRANCH_MEMBER" ? std::nullopt
                                                          : std::optional(static_cast<TreeMode>(at - names));
}

// The nodes of TreeEnsembleClassifier and TreeEnsembleRegressor, which have pairs (tree, node) as names.
class NamedNodes {
 public:
  explicit NamedNodes(Node& n) : n_(n) {}

  // `kind` is "class" or "target".
  std::optional<TreeEnsemble> read(const std::string& kind) {
    tree_ids_ = integer_list(n_, "nodes_treeids");
    node_ids_ = integer_list(n_, "nodes_nodeids");
    n_.ignore("nodes_hitrates");
    n_.ignore("nodes_hitrates_as_tensor");
    if (!check_size(n_, "nodes_nodeids", node_ids_.size(), tree_ids_.size())) return std::nullopt;
    for (size_t k = 0; k < tree_ids_.size(); ++k)
      n_.check(index_.emplace(std::pair(tree_ids_[k], node_ids_[k]), k).second, DiagnosticId::bad_attribute,
               fmt::format("tree {} has two nodes {}", tree_ids_[k], node_ids_[k]));
    ensemble_.nodes.resize(tree_ids_.size());
    read_nodes();
    if (!n_.failed()) read_weights(kind);
    if (!n_.failed()) find_roots();
    return n_.failed() ? std::nullopt : std::optional(std::move(ensemble_));
  }

 private:
  void read_nodes() {
    const auto features = integer_list(n_, "nodes_featureids"), if_true = integer_list(n_, "nodes_truenodeids"),
               if_false = integer_list(n_, "nodes_falsenodeids"),
               missing = integer_list(n_, "nodes_missing_value_tracks_true");
    const auto modes = n_.texts("nodes_modes").value_or(std::vector<std::string>{});
    const auto values = reals_of(n_, "nodes_values", "nodes_values_as_tensor");
    const size_t count = ensemble_.nodes.size();
    for (auto [name, size] : {std::pair{"nodes_featureids", features.size()},
                              {"nodes_truenodeids", if_true.size()},
                              {"nodes_falsenodeids", if_false.size()},
                              {"nodes_modes", modes.size()},
                              {"nodes_values", values.size()}})
      if (!check_size(n_, name, size, count)) return;
    if (!missing.empty() && !check_size(n_, "nodes_missing_value_tracks_true", missing.size(), count)) return;
    for (size_t k = 0; k < count; ++k) {
      TreeNode& node = ensemble_.nodes[k];
      const auto mode = mode_of(modes[k]);
      if (!n_.check(mode.has_value(), DiagnosticId::bad_attribute, fmt::format("there is no mode '{}'", modes[k])))
        return;
      node.mode = *mode;
      if (node.mode == TreeMode::leaf) continue;
      node.feature = features[k];
      node.value = values[k];
      node.if_true = node_named(tree_ids_[k], if_true[k]);
      node.if_false = node_named(tree_ids_[k], if_false[k]);
      node.missing_is_true = !missing.empty() && missing[k] != 0;
    }
  }

  size_t node_named(int64_t tree, int64_t node) {
    auto found = index_.find({tree, node});
    n_.check(found != index_.end(), DiagnosticId::bad_attribute, fmt::format("tree {} has no node {}", tree, node));
    return found == index_.end() ? 0 : found->second;
  }

  void read_weights(const std::string& kind) {
    const auto trees = integer_list(n_, kind + "_treeids"), nodes = integer_list(n_, kind + "_nodeids"),
               targets = integer_list(n_, kind + "_ids");
    const auto weights = reals_of(n_, kind + "_weights", kind + "_weights_as_tensor");
    for (auto [name, size] :
         {std::pair{"_nodeids", nodes.size()}, {"_ids", targets.size()}, {"_weights", weights.size()}})
      if (!check_size(n_, kind + name, size, trees.size())) return;
    for (size_t k = 0; k < trees.size(); ++k) {
      const size_t node = node_named(trees[k], nodes[k]);
      if (n_.failed()) return;
      ensemble_.nodes[node].weights.emplace_back(targets[k], weights[k]);
    }
  }

  // A tree begins at its first node that is no child.
  void find_roots() {
    std::vector<bool> is_child(ensemble_.nodes.size());
    for (const TreeNode& node : ensemble_.nodes)
      if (node.mode != TreeMode::leaf) is_child[node.if_true] = is_child[node.if_false] = true;
    std::map<int64_t, size_t> roots;
    for (size_t k = 0; k < is_child.size(); ++k)
      if (!is_child[k]) roots.emplace(tree_ids_[k], k);
    for (int64_t tree : tree_ids_)
      n_.check(roots.contains(tree), DiagnosticId::cyclic_graph, fmt::format("tree {} has a node below itself", tree));
    for (const auto& [tree, root] : roots) ensemble_.roots.push_back(root);
  }

  Node& n_;
  TreeEnsemble ensemble_;
  std::vector<int64_t> tree_ids_, node_ids_;
  std::map<std::pair<int64_t, int64_t>, size_t> index_;
};

}  // namespace

std::optional<TreeEnsemble> read_named_trees(Node& n, const std::string& kind) { return NamedNodes(n).read(kind); }

// The nodes of TreeEnsemble: inner nodes, then leaves. Sets of BRANCH_MEMBER are lists that end with NaN.
std::optional<TreeEnsemble> read_numbered_trees(Node& n) {
  const auto features = integer_list(n, "nodes_featureids"), if_true = integer_list(n, "nodes_truenodeids"),
             if_false = integer_list(n, "nodes_falsenodeids"), true_leafs = integer_list(n, "nodes_trueleafs"),
             false_leafs = integer_list(n, "nodes_falseleafs"),
             missing = integer_list(n, "nodes_missing_value_tracks_true"), targets = integer_list(n, "leaf_targetids"),
             roots = integer_list(n, "tree_roots");
  const auto modes = reals_of(n, "", "nodes_modes"), splits = reals_of(n, "", "nodes_splits"),
             weights = reals_of(n, "", "leaf_weights"), members = reals_of(n, "", "membership_values");
  n.ignore("nodes_hitrates");
  const size_t count = features.size();
  for (auto [name, size] : {std::pair{"nodes_truenodeids", if_true.size()},
                            {"nodes_falsenodeids", if_false.size()},
                            {"nodes_trueleafs", true_leafs.size()},
                            {"nodes_falseleafs", false_leafs.size()},
                            {"nodes_modes", modes.size()},
                            {"nodes_splits", splits.size()}})
    if (!check_size(n, name, size, count)) return std::nullopt;
  if (!check_size(n, "leaf_weights", weights.size(), targets.size())) return std::nullopt;
  if (!missing.empty() && !check_size(n, "nodes_missing_value_tracks_true", missing.size(), count)) return std::nullopt;
  TreeEnsemble trees;
  auto index_of = [&](int64_t id, bool leaf) {
    const size_t most = leaf ? targets.size() : count;
    n.check(id >= 0 && static_cast<size_t>(id) < most, DiagnosticId::bad_attribute,
            fmt::format("there is no {} {}", leaf ? "leaf" : "node", id));
    return static_cast<size_t>(id) + (leaf ? count : 0);
  };
  size_t member = 0;
  for (size_t k = 0; k < count; ++k) {
    n.check(modes[k] >= 0 && modes[k] <= 6, DiagnosticId::bad_attribute, fmt::format("there is no mode {}", modes[k]));
    TreeNode node{static_cast<TreeMode>(modes[k]), features[k], splits[k]};
    node.if_true = index_of(if_true[k], true_leafs[k] != 0);
    node.if_false = index_of(if_false[k], false_leafs[k] != 0);
    node.missing_is_true = !missing.empty() && missing[k] != 0;
    if (node.mode == TreeMode::member) {
      for (; member < members.size() && members[member] == members[member]; ++member)
        node.members.push_back(members[member]);
      ++member;
      n.check(!node.members.empty(), DiagnosticId::bad_attribute, "the set of a BRANCH_MEMBER node is empty");
    }
    if (n.failed()) return std::nullopt;
    trees.nodes.push_back(std::move(node));
  }
  for (size_t k = 0; k < targets.size(); ++k) trees.nodes.push_back({.weights = {{targets[k], weights[k]}}});
  for (int64_t root : roots) trees.roots.push_back(index_of(root, false));
  return n.failed() ? std::nullopt : std::optional(std::move(trees));
}

}  // namespace dlcc::frontends::onnx
