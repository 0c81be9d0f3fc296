// Sequences of tensors: they are made, changed, and end as tensors.
#include <algorithm>

#include "graph.h"

namespace dlcc::random_models {
namespace {

struct Sequence {
  Value name;                   // hidden
  std::vector<Value> elements;  // their types and shapes
};

Value sequence_value(Graph& g) {
  Value v{g.fresh_name()};
  v.hidden = true;
  return v;
}

Value position(Graph& g, int64_t index) { return g.constant(dtype::i64, {}, {static_cast<double>(index)}); }

// Slices of a tensor along an axis.
std::optional<Sequence> split(Graph& g) {
  auto x =
      g.any([](const Value& v) { return v.rank() > 0 && !v.is_symbolic() && v.count() > 0 && v.type != dtype::bf16; });
  if (!x) return std::nullopt;
  const auto axis = static_cast<size_t>(g.draw(static_cast<int>(x->rank())));
  const int64_t n = x->shape[axis].number;
  const bool listed = g.chance(40), kept = g.chance(60);
  Sequence s{sequence_value(g), {}};
  std::vector<Value> operands = {*x};
  std::vector<int64_t> parts(static_cast<size_t>(n), 1);
  if (listed) {
    const int64_t first = 1 + g.draw(static_cast<int>(n));
    parts = {first};
    if (first < n) parts.push_back(n - first);
    operands.push_back(g.indices(parts));
  }
  for (int64_t part : parts) {
    s.elements.push_back(*x);
    s.elements.back().shape[axis] = {part, ""};
    if (!listed && !kept) s.elements.back().shape.erase(s.elements.back().shape.begin() + static_cast<long>(axis));
  }
  Node node = g.add("SplitToSequence", operands, s.name);
  node.integer("axis", static_cast<int64_t>(axis));
  if (!listed) node.integer("keepdims", kept);
  return s;
}

std::optional<Sequence> construct(Graph& g) {
  auto x = g.any([](const Value& v) { return v.type != dtype::bf16; });
  if (!x) return std::nullopt;
  Sequence s{sequence_value(g), {*x}};
  for (int k = g.draw(3); k > 0; --k)
    if (auto y = g.any([&](const Value& v) { return v.type == x->type; })) s.elements.push_back(*y);
  g.add("SequenceConstruct", s.elements, s.name);
  return s;
}

// Inserts or removes an element.
void change(Graph& g, Sequence& s) {
  const auto n = static_cast<int>(s.elements.size());
  const Value changed = sequence_value(g);
  const bool at_end = g.chance(30);
  if (n < 2 || g.chance(60)) {
    auto x = g.any([&](const Value& v) { return v.type == s.elements[0].type && v.rank() == s.elements[0].rank(); });
    if (!x) return;
    const int k = at_end ? n : g.draw(n + 1);
    std::vector<Value> operands = {s.name, *x};
    if (!at_end) operands.push_back(position(g, k == n ? k : g.chance(30) ? k - n : k));
    g.add("SequenceInsert", operands, changed);
    s.elements.insert(s.elements.begin() + k, *x);
  } else {
    const int k = at_end ? n - 1 : g.draw(n);
    std::vector<Value> operands = {s.name};
    if (!at_end) operands.push_back(position(g, g.chance(30) ? k - n : k));
    g.add("SequenceErase", operands, changed);
    s.elements.erase(s.elements.begin() + k);
  }
  s.name = changed;
}

// The concatenation of all elements if their shapes fit; along a new axis if all are equal.
bool concatenate(Graph& g, const Sequence& s) {
  Value r = s.elements[0].renamed("");
  const bool equal = std::ranges::all_of(s.elements, [&](const Value& v) { return v.shape == r.shape; });
  if (!equal || r.is_symbolic() || r.rank() > 4) return false;
  const bool new_axis = r.rank() == 0 || g.chance(40);
  const auto axis = static_cast<size_t>(g.draw(static_cast<int>(r.rank()) + (new_axis ? 1 : 0)));
  const auto n = static_cast<int64_t>(s.elements.size());
  if (new_axis)
    r.shape.insert(r.shape.begin() + static_cast<long>(axis), Size{n, ""});
  else
    r.shape[axis].number *= n;
  for (const Value& v : s.elements) {
    r.bound = std::max(r.bound, v.bound), r.error = std::max(r.error, v.error);
    r.grain = r.exact() && v.exact() ? std::min(r.grain, v.grain) : 0;
  }
  g.add("ConcatFromSequence", {s.name}, r).integer("axis", static_cast<int64_t>(axis)).integer("new_axis", new_axis);
  return true;
}

bool add_sequence(Graph& g) {
  auto s = g.chance(60) ? split(g) : construct(g);
  if (!s) return false;
  for (int k = g.draw(3); k > 0; --k) change(g, *s);
  const auto n = static_cast<int>(s->elements.size());
  if (g.chance(30)) g.add("SequenceLength", {s->name}, Value{"", dtype::i64, {}, static_cast<double>(n), 1});
  if (g.chance(60) && concatenate(g, *s)) return true;
  const int k = g.draw(n);
  g.add("SequenceAt", {s->name, position(g, g.chance(30) ? k - n : k)},
        s->elements[static_cast<size_t>(k)].renamed(""));
  return true;
}

}  // namespace

const std::vector<Operator>& sequence_operators() {
  static const std::vector<Operator> rows = {add_sequence};
  return rows;
}

}  // namespace dlcc::random_models
