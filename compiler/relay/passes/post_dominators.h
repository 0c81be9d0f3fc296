// The tree of post-dominators of a data-flow graph.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace dlcc::relay {

// Nodes are numbered in topological order. One backward sweep finds all immediate post-dominators: the nearest common
// ancestor of a node's readers in the tree built so far. -1 is the exit, the root of the tree.
class PostDominators {
 public:
  explicit PostDominators(size_t nodes = 0) : nodes_(nodes) {}

  // Adds a node below its readers, which have been added; a node that something else uses as well is below the exit.
  void add(int n, const std::vector<int>& readers, bool escapes) {
    int common = -1;
    if (!escapes && !readers.empty()) {
      common = readers[0];
      for (int r : readers) common = common_ancestor(common, r);
    }
    const int far = jump(common);
    const bool is_balanced = depth(common) - depth(far) == depth(far) - depth(jump(far));
    nodes_[static_cast<size_t>(n)] = {common, is_balanced ? jump(far) : common, depth(common) + 1};
  }

  // The immediate post-dominator of a node.
  int of(int n) const { return n < 0 ? -1 : nodes_[static_cast<size_t>(n)].parent; }

 private:
  struct Node {
    int parent = -1, jump = -1, depth = 0;  // the immediate one, a farther one, the distance from the exit
  };

  int jump(int n) const { return n < 0 ? -1 : nodes_[static_cast<size_t>(n)].jump; }
  int depth(int n) const { return n < 0 ? 0 : nodes_[static_cast<size_t>(n)].depth; }

  // In logarithmic time, by jumps whose lengths depend on the depth only (Myers, "An applicative random-access stack",
  // 1983).
  int common_ancestor(int a, int b) const {
    if (depth(a) < depth(b)) std::swap(a, b);
    while (depth(a) > depth(b)) a = depth(jump(a)) >= depth(b) ? jump(a) : of(a);
    while (a != b) {
      const bool far = jump(a) != jump(b);
      a = far ? jump(a) : of(a);
      b = far ? jump(b) : of(b);
    }
    return a;
  }

  std::vector<Node> nodes_;
};

}  // namespace dlcc::relay
