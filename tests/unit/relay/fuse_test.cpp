// Fusion of long graphs: its time is linear in the number of operators, for every form of graph.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>

#include "relay/operator.h"
#include "relay/passes/passes.h"

namespace dlcc::relay {
namespace {

// A module whose @main has operators on tensors of one type.
class LongGraph {
 public:
  LongGraph() {
    Function& main = module.functions["main"];
    main.params = {module.fresh("x", type)};
    main.result_type = type;
    x = main.params[0];
    block = &main.body;
  }
  Atom apply(const char* name, std::vector<Atom> args) {
    Var var = module.fresh("", type);
    block->bindings.push_back({var, Call{OperatorRef{op(name)}, std::move(args), {}}, {}});
    return var;
  }

  Module module;
  Type type = tensor_type(std::vector<int64_t>{4, 4}, dtype::f32);
  Atom x;
  Block* block;
};

Atom chain(LongGraph& g, int n) {
  Atom last = g.x;
  for (int k = 0; k < n; ++k) last = g.apply(k % 2 ? "tanh" : "negative", {last});
  return last;
}

// No two operators join, and all functions have the same name.
Atom contractions(LongGraph& g, int n) {
  Atom last = g.x;
  for (int k = 0; k < n; ++k) last = g.apply("nn.dense", {last, g.x});
  return last;
}

// Values that are read at both ends of a long chain: their post-dominators are far apart in the tree.
Atom far_readers(LongGraph& g, int n) {
  std::vector<Atom> shared;
  for (int k = 0; k < n / 4; ++k) shared.push_back(g.apply("tanh", {g.x}));
  Atom last = g.x;
  for (const Atom& a : shared) last = g.apply("add", {last, a});
  for (const Atom& a : shared) last = g.apply("nn.relu", {g.apply("multiply", {last, a})});
  return last;
}

// One value with many readers.
Atom fan(LongGraph& g, int n) {
  Atom shared = g.apply("tanh", {g.x}), last = g.x;
  for (int k = 0; k < n / 2; ++k) last = g.apply("maximum", {last, g.apply("add", {shared, last})});
  return last;
}

double seconds_to_fuse(Atom (*grow)(LongGraph&, int), int n) {
  LongGraph g;
  g.block->result = grow(g, n);
  PassContext context;
  std::clock_t start = std::clock();
  Module fused = fuse(std::move(g.module), context);
  double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(!fused.tensor_functions.empty());
  return seconds;
}

}  // namespace

TEST_CASE("fusion takes linear time") {
  for (auto grow : {chain, contractions, far_readers, fan}) {
    double base = 1e9, longer = 1e9;  // the least of three: other processes only add
    for (int k = 0; k < 3; ++k) {
      base = std::min(base, seconds_to_fuse(grow, 500));
      longer = std::min(longer, seconds_to_fuse(grow, 4000));
    }
    CHECK(longer < 20 * base);
  }
}

}  // namespace dlcc::relay
