#include "frontends/onnx/operators/ml_tree_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlcc::frontends::onnx {
namespace {

// A row of the table: a feature that is at most the threshold leads to `less`.
struct TreeRow {
  int64_t feature = 0;
  double threshold = 0;
  size_t less = 0, greater = 0;
  bool missing_is_less = false;
  int64_t first_weight = 0, end_of_weights = 0;
};

class TableBuilder {
 public:
  TableBuilder(const TreeEnsemble& trees, DType data) : trees_(trees), data_(data), rows_(trees.nodes.size()) {
    for (size_t k = 0; k < trees.nodes.size(); ++k) add(k, trees.nodes[k]);
  }

  // The number of levels below each row; empty if a row is below itself.
  std::optional<std::vector<int64_t>> heights() const;

  TreeTables tables(const std::vector<int64_t>& heights, DType weight) const;

 private:
  // The largest number below `value`: x < value if and only if x <= below(value). NaN, which nothing is below, for
  // -inf.
  double below(double value) const {
    if (value == -INFINITY) return NAN;
    return data_ == dtype::f64 ? std::nextafter(value, -INFINITY)
                               : std::nextafter(static_cast<float>(value), -std::numeric_limits<float>::infinity());
  }

  size_t append(TreeRow row) {
    rows_.push_back(row);
    return rows_.size() - 1;
  }

  // x == value: x <= value and not x < value.
  TreeRow equal(int64_t feature, double value, size_t if_true, size_t if_false, bool missing_is_true) {
    const size_t second = append({feature, below(value), if_false, if_true, false});
    return {feature, value, second, if_false, missing_is_true};
  }

  void add(size_t k, const TreeNode& n);

  const TreeEnsemble& trees_;
  const DType data_;
  std::vector<TreeRow> rows_;  // those of the nodes, then further ones
  std::vector<int64_t> targets_;
  std::vector<double> weights_;
};

// A condition that is the negation of a comparison with <= exchanges the children, and the child for NaN.
void TableBuilder::add(size_t k, const TreeNode& n) {
  const bool missing = n.missing_is_true;
  switch (n.mode) {
    case TreeMode::less_equal:
      rows_[k] = {n.feature, n.value, n.if_true, n.if_false, missing};
      return;
    case TreeMode::less:
      rows_[k] = {n.feature, below(n.value), n.if_true, n.if_false, missing};
      return;
    case TreeMode::greater_equal:
      rows_[k] = {n.feature, below(n.value), n.if_false, n.if_true, !missing};
      return;
    case TreeMode::greater:
      rows_[k] = {n.feature, n.value, n.if_false, n.if_true, !missing};
      return;
    case TreeMode::equal:
      rows_[k] = equal(n.feature, n.value, n.if_true, n.if_false, missing);
      return;
    case TreeMode::not_equal:
      rows_[k] = equal(n.feature, n.value, n.if_false, n.if_true, !missing);
      return;
    case TreeMode::member: {
      size_t otherwise = n.if_false;
      for (size_t m = n.members.size(); m-- > 1;)
        otherwise = append(equal(n.feature, n.members[m], n.if_true, otherwise, missing));
      rows_[k] = equal(n.feature, n.members.at(0), n.if_true, otherwise, missing);
      return;
    }
    case TreeMode::leaf:
      rows_[k] = {.less = k, .greater = k, .first_weight = static_cast<int64_t>(weights_.size())};
      for (const auto& [target, weight] : n.weights) {
        targets_.push_back(target);
        weights_.push_back(weight);
      }
      rows_[k].end_of_weights = static_cast<int64_t>(weights_.size());
  }
}

// A depth-first search with a stack of its own: trees may be deep.
std::optional<std::vector<int64_t>> TableBuilder::heights() const {
  constexpr int64_t unknown = -1, open = -2;
  std::vector<int64_t> height(rows_.size(), unknown);
  for (size_t root = 0; root < rows_.size(); ++root) {
    std::vector<size_t> stack = {root};
    while (!stack.empty()) {
      const size_t k = stack.back();
      const TreeRow& row = rows_[k];
      const bool is_leaf = row.less == k && row.greater == k;
      if (is_leaf || height[k] >= 0) {
        height[k] = std::max<int64_t>(height[k], 0);
        stack.pop_back();
        continue;
      }
      const bool begins = height[k] == unknown;
      height[k] = open;
      for (size_t child : {row.less, row.greater}) {
        if (height[child] == open) return std::nullopt;
        if (begins && height[child] == unknown) stack.push_back(child);
      }
      if (stack.back() != k) continue;
      height[k] = 1 + std::max(height[row.less], height[row.greater]);
      stack.pop_back();
    }
  }
  return height;
}

// A constant of rank 1 with elements of a float type.
Value reals(DType type, const std::vector<double>& values) {
  const auto count = static_cast<int64_t>(values.size());
  if (type == dtype::f64) return Value::of(Constant::of<double>(type, {count}, values));
  return Value::of(Constant::of<float>(type, {count}, std::vector<float>(values.begin(), values.end())));
}

Value as_int32(const std::vector<int64_t>& values, std::vector<int64_t> shape) {
  return Value::of(
      Constant::of<int32_t>(dtype::i32, std::move(shape), std::vector<int32_t>(values.begin(), values.end())));
}

TreeTables TableBuilder::tables(const std::vector<int64_t>& heights, DType weight) const {
  std::vector<int64_t> nodes, roots, depths, targets = targets_;
  std::vector<double> thresholds, weights = weights_;
  TreeTables tables;
  for (const TreeRow& r : rows_) {
    for (int64_t column : {r.feature, static_cast<int64_t>(r.greater), static_cast<int64_t>(r.less),
                           int64_t{r.missing_is_less}, r.first_weight, r.end_of_weights})
      nodes.push_back(column);
    thresholds.push_back(r.threshold);
    tables.has_missing_values = tables.has_missing_values || r.missing_is_less;
  }
  for (size_t root : trees_.roots) {
    roots.push_back(static_cast<int64_t>(root));
    depths.push_back(heights[root]);
  }
  if (weights.empty()) {  // a table has a row
    targets.push_back(0);
    weights.push_back(0);
  }
  const auto count = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  tables.operands = {as_int32(nodes, {count(rows_), count(nodes) / count(rows_)}),
                     reals(data_, thresholds),
                     as_int32(roots, {count(roots)}),
                     as_int32(depths, {count(depths)}),
                     as_int32(targets, {count(targets)}),
                     reals(weight, weights)};
  return tables;
}

}  // namespace

std::optional<TreeTables> tree_tables(Node& n, const TreeEnsemble& trees, DType data, DType weight) {
  TableBuilder builder(trees, data);
  auto heights = builder.heights();
  if (!n.check(heights.has_value(), DiagnosticId::cyclic_graph, "a tree has a node below itself")) return std::nullopt;
  return builder.tables(*heights, weight);
}

bool always_has_weight(const TreeEnsemble& trees, int64_t target) {
  // Whether every path from a node ends in a leaf with a weight; false for a node in a cycle.
  std::vector<int> has(trees.nodes.size(), -1);
  std::vector<size_t> stack = trees.roots;
  while (!stack.empty()) {
    const size_t k = stack.back();
    const TreeNode& n = trees.nodes[k];
    if (n.mode == TreeMode::leaf)
      has[k] = std::ranges::any_of(n.weights, [&](const auto& w) { return w.first == target; });
    else if (has[k] == -1) {
      has[k] = -2;
      stack.insert(stack.end(), {n.if_true, n.if_false});
      continue;
    } else if (has[k] == -2) {
      has[k] = has[n.if_true] == 1 && has[n.if_false] == 1;
    }
    stack.pop_back();
  }
  return std::ranges::any_of(trees.roots, [&](size_t root) { return has[root] == 1; });
}

}  // namespace dlcc::frontends::onnx
