// If and Loop. The bodies have operators that keep type, shape and exactness of an outer value.
#include "graph.h"

namespace dlcc::random_models {
namespace {

// Whether sub-graphs may return values of the type, and like() computes values of it.
bool is_carried(const Graph& g, const Value& v) {
  return v.type == dtype::bf16 ? g.opset() >= 16 : is_float(v.type) || is_signed(v.type);
}

// Adds nodes that compute from a value another value of its type, shape and bounds.
Value like(Graph& g, Value x, int count) {
  for (; count > 0; --count) {
    const Value result = x.renamed(g.fresh_name());
    switch (g.draw(4)) {
      case 0:
        g.add("Neg", {x}, result);
        break;
      case 1:
        g.add("Abs", {x}, result);
        break;
      case 2:
        g.add("Max", {x, g.constant(x.type, {}, {0})}, result);
        break;
      default:
        g.add("Identity", {x}, result);
    }
    x = result;
  }
  return x;
}

bool add_if(Graph& g) {
  auto condition = g.any([](const Value& v) { return is_bool(v.type) && v.rank() == 0; });
  auto x = g.any([&](const Value& v) { return is_carried(g, v); });
  if (!x) return false;
  if (!condition) condition = g.input(dtype::boolean, {});
  Node node = g.add("If", {*condition}, x->renamed(""));
  for (const char* branch : {"then_branch", "else_branch"}) {
    schema::GraphProto& graph = node.graph(branch);
    g.in_subgraph(graph, [&] { Graph::declare(*graph.add_output(), like(g, *x, 1 + g.draw(3)), g.chance(50)); });
  }
  return true;
}

bool add_loop(Graph& g) {
  auto x = g.any([&](const Value& v) { return is_carried(g, v); });
  if (!x) return false;
  const int64_t trips = g.draw(4);
  Value last = x->renamed(""), scanned = x->renamed("");
  scanned.shape.insert(scanned.shape.begin(), Size{trips, ""});
  const bool scans = g.chance(50) && x->rank() < 5 && (trips > 0 || !x->is_symbolic());
  std::vector<Value> results = {last};
  if (scans) results.push_back(scanned);
  const Value absent;
  Node node = g.add("Loop", {g.constant(dtype::i64, {}, {static_cast<double>(trips)}), absent, *x}, results);
  schema::GraphProto& graph = node.graph("body");
  g.in_subgraph(graph, [&] {
    const Value i{g.fresh_name(), dtype::i64, {}, 4, 1}, going{g.fresh_name(), dtype::boolean, {}, 1, 1};
    const Value state = x->renamed(g.fresh_name()), still = going.renamed(g.fresh_name());
    for (const Value& v : {i, going, state}) Graph::declare(*graph.add_input(), v);
    g.add("Identity", {going}, still);
    const Value next = like(g, state, 1 + g.draw(3));
    Graph::declare(*graph.add_output(), still);
    Graph::declare(*graph.add_output(), next);
    if (scans) Graph::declare(*graph.add_output(), like(g, next, 1));
  });
  return true;
}

}  // namespace

const std::vector<Operator>& control_operators() {
  static const std::vector<Operator> rows = {add_if, add_loop};
  return rows;
}

}  // namespace dlcc::random_models
