// Fusion of graphs with thousands of operators: chains, forks, values that are read early and late.
#include <doctest/doctest.h>

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
    return bind(type, Call{OperatorRef{op(name)}, std::move(args), {}});
  }
  Atom bind(Type of, Operation operation) {
    Var var = module.fresh("", std::move(of));
    block->bindings.push_back({var, std::move(operation), {}});
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

// All parts of a split, added up.
Atom split_parts(LongGraph& g, int n) {
  std::vector<Atom> copies(static_cast<size_t>(n), g.x);
  const Type whole = tensor_type(std::vector<int64_t>{4 * n, 4}, dtype::f32);
  const Atom many = g.bind(tuple_type(std::vector<Type>(copies.size(), g.type)), MakeTuple{copies});
  const Atom x = g.bind(whole, Call{OperatorRef{op("concatenate")}, {many}, {}});
  const Atom parts = g.bind(tuple_type(std::vector<Type>(copies.size(), g.type)),
                            Call{OperatorRef{op("split")}, {x}, {{"indices_or_sections", n}}});
  Atom sum = g.x;
  for (int k = 0; k < n; ++k) sum = g.apply("add", {sum, g.bind(g.type, Project{parts, k})});
  return sum;
}

// The concatenation of the results of as many functions, which are read nowhere else.
Atom concatenated(LongGraph& g, int n) {
  std::vector<Atom> products;
  for (int k = 0; k < n; ++k) products.push_back(g.apply("nn.dense", {g.x, g.x}));
  const Atom many = g.bind(tuple_type(std::vector<Type>(products.size(), g.type)), MakeTuple{products});
  return g.bind(tensor_type(std::vector<int64_t>{4 * n, 4}, dtype::f32),
                Call{OperatorRef{op("concatenate")}, {many}, {}});
}

// The number of tensor functions after fusion, and of their calls in @main.
std::pair<size_t, size_t> fused_sizes(Atom (*grow)(LongGraph&, int), int n) {
  LongGraph g;
  g.block->result = grow(g, n);
  PassContext context{.channel_block = 16};
  Module fused = fuse_line_buffers(fuse(std::move(g.module), context), context);
  return {fused.tensor_functions.size(), fused.functions.at("main").body.bindings.size()};
}

}  // namespace

// Group sizes are bounded, so that the number of functions grows with the graph. The time of fusion does, too: if it
// grew with the square, this would take more minutes than the test is given.
TEST_CASE("long graphs are fused into groups of bounded size in linear time") {
  constexpr int n = 40000;
  for (auto grow : {chain, far_readers, fan}) {
    auto [functions, calls] = fused_sizes(grow, n);
    CHECK(functions == calls);
    CHECK(functions > n / 100);
    CHECK(functions < n / 2);
  }
  CHECK(fused_sizes(contractions, n) == std::pair<size_t, size_t>(n, n));
  constexpr int operands = n / 5;
  CHECK(fused_sizes(concatenated, operands) == std::pair<size_t, size_t>(operands + 1, operands + 1));
  CHECK(fused_sizes(split_parts, operands).first < operands);
}

}  // namespace dlcc::relay
