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

// The branches of an If in which a carried value gets one more copy of `x`, or one row fewer, along an axis, or stays.
void add_change(Graph& g, Node& choice, const Value& state, const Value& next, const Value& x, int64_t axis,
                bool grows) {
  for (const char* branch : {"then_branch", "else_branch"}) {
    schema::GraphProto& graph = choice.graph(branch);
    const Value result = next.renamed(g.fresh_name());
    g.in_subgraph(graph, [&] {
      if (branch == std::string("else_branch"))
        g.add("Identity", {state}, result);
      else if (grows)
        g.add("Concat", {state, x}, result).integer("axis", axis);
      else
        g.add("Slice", {state, g.indices({1}), g.indices({1 << 20}), g.indices({axis})}, result);
      Graph::declare(*graph.add_output(), result, false);
    });
  }
}

// A carried value that changes its size in the iterations for which an input is true.
bool add_changing_loop(Graph& g) {
  auto x = g.any([&](const Value& v) { return is_carried(g, v) && v.type != dtype::bf16 && v.rank() > 0; });
  if (!x) return false;
  const auto axis = static_cast<size_t>(g.draw(static_cast<int>(x->rank())));
  const int64_t trips = 1 + g.draw(3), own = x->shape[axis].number;
  const bool grows = g.chance(60);
  const Value changes = g.input(dtype::boolean, {{trips, ""}}), absent;
  int64_t count = 0;
  for (int64_t k = 0; k < trips; ++k) count += g.data_of(changes)->integer_at(k);
  Value last = x->renamed("");
  last.shape[axis] = g.counted(grows ? own * (1 + count) : std::max<int64_t>(own - count, 0));
  Node node = g.add("Loop", {g.constant(dtype::i64, {}, {static_cast<double>(trips)}), absent, *x}, {last});
  schema::GraphProto& graph = node.graph("body");
  g.in_subgraph(graph, [&] {
    const Value i{g.fresh_name(), dtype::i64, {}, 4, 1}, going{g.fresh_name(), dtype::boolean, {}, 1, 1};
    const Value state = last.renamed(g.fresh_name()), next = last.renamed(g.fresh_name());
    const Value still = going.renamed(g.fresh_name()), now = going.renamed(g.fresh_name());
    for (const Value& v : {i, going, state}) Graph::declare(*graph.add_input(), v, v.name != state.name);
    g.add("Identity", {going}, still);
    g.add("Gather", {changes, i}, now);
    Node choice = g.add("If", {now}, next);
    add_change(g, choice, state, next, *x, static_cast<int64_t>(axis), grows);
    Graph::declare(*graph.add_output(), still);
    Graph::declare(*graph.add_output(), next, false);
  });
  return true;
}

}  // namespace

const std::vector<Operator>& control_operators() {
  static const std::vector<Operator> rows = {add_if, add_loop, add_changing_loop};
  return rows;
}

}  // namespace dlcc::random_models
