// Operators that choose elements by indices or by their order, and reductions.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph.h"

namespace dlcc::random_models {
namespace {

bool known(const Size& s) { return s.symbol.empty() && s.number > 0; }

// An axis of known size that is not 0; -1 if there is none.
int64_t known_axis(Graph& g, const Value& v) {
  const int64_t first = g.draw(static_cast<int>(std::max<int64_t>(v.rank(), 1)));
  for (int64_t k = 0; k < v.rank(); ++k)
    if (int64_t a = (first + k) % v.rank(); known(v.shape[static_cast<size_t>(a)])) return a;
  return -1;
}

bool has_known_axis(const Value& v) { return std::ranges::any_of(v.shape, known); }

// Constant indices into an axis of size n, some counted from the end.
Value random_indices(Graph& g, const std::vector<int64_t>& shape, int64_t n) {
  int64_t count = 1;
  for (int64_t s : shape) count *= s;
  std::vector<double> list(static_cast<size_t>(count));
  for (double& i : list) i = static_cast<double>(g.draw(static_cast<int>(2 * n)) - n);
  return g.constant(g.one_of({dtype::i32, dtype::i64}), shape, list);
}

bool add_gather(Graph& g) {
  auto x = g.any(has_known_axis);
  if (!x || x->rank() > 4) return false;
  const int64_t axis = known_axis(g, *x);
  const auto k = static_cast<size_t>(axis);
  const std::vector<int64_t> shape = g.one_of<std::vector<int64_t>>({{}, {1}, {3}, {2, 2}});
  const Value indices = random_indices(g, shape, x->shape[k].number);
  Value r = x->renamed("");
  r.shape.erase(r.shape.begin() + axis);
  r.shape.insert(r.shape.begin() + axis, indices.shape.begin(), indices.shape.end());
  g.add("Gather", {*x, indices}, r).integer("axis", axis);
  return true;
}

bool add_gather_elements(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() > 0 && !v.is_symbolic() && v.count() > 0; });
  if (!x) return false;
  const int64_t axis = known_axis(g, *x);
  std::vector<int64_t> shape;
  for (const Size& s : x->shape) shape.push_back(1 + g.draw(static_cast<int>(s.number)));
  const Value indices = random_indices(g, shape, x->shape[static_cast<size_t>(axis)].number);
  Value r = x->renamed("");
  r.shape = indices.shape;
  g.add("GatherElements", {*x, indices}, r).integer("axis", axis);
  return true;
}

// The result of a scatter of updates into x, by addition or in place of the elements; nothing if the type cannot hold
// it.
std::optional<Value> scattered(const Value& x, const Value& updates, bool sum) {
  Value r = x.renamed("");
  r.bound = sum ? x.bound + updates.bound : std::max(x.bound, updates.bound);
  if (r.exact()) r.grain = std::min(x.grain, updates.grain);
  if (sum && !(r.exact() && holds(r.type, r.bound, r.grain))) {
    if (!is_float(r.type)) return std::nullopt;
    r.grain = 0, r.error = x.error + 2 * epsilon(r.type) * r.bound;
  }
  return r;
}

// Updates of distinct rows, so that the order of the updates does not matter.
bool add_scatter(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() > 0 && !v.is_symbolic() && v.count() > 0 && !is_bool(v.type); });
  if (!x) return false;
  const int64_t n = x->shape[0].number, count = 1 + g.draw(static_cast<int>(n));
  std::vector<int64_t> rows = g.permutation(n), update_shape = {count};
  rows.resize(static_cast<size_t>(count));
  for (size_t k = 1; k < x->shape.size(); ++k) update_shape.push_back(x->shape[k].number);
  const Value updates = g.random_constant(x->type, update_shape);
  const Value indices = g.constant(Constant::of(dtype::i64, {count, 1}, rows));
  const bool sum = g.chance(40) && g.opset() >= 16;
  auto r = scattered(*x, updates, sum);
  if (!r) return false;
  Node node = g.add("ScatterND", {*x, indices, updates}, *r);
  if (sum) node.text("reduction", "add");
  return true;
}

// Updates whose indices are distinct along the axis.
bool add_scatter_elements(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() > 0 && !v.is_symbolic() && v.count() > 0 && !is_bool(v.type); });
  if (!x) return false;
  const auto axis = static_cast<size_t>(g.draw(static_cast<int>(x->rank())));
  const int64_t n = x->shape[axis].number;
  std::vector<int64_t> shape;
  int64_t inner = 1, outer = 1;
  for (size_t k = 0; k < x->shape.size(); ++k) {
    shape.push_back(1 + g.draw(static_cast<int>(x->shape[k].number)));
    if (k != axis) (k < axis ? outer : inner) *= shape[k];
  }
  std::vector<int64_t> indices(static_cast<size_t>(outer * shape[axis] * inner));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const std::vector<int64_t> order = g.permutation(n);
      for (int64_t k = 0; k < shape[axis]; ++k)
        indices[static_cast<size_t>((o * shape[axis] + k) * inner + i)] =
            order[static_cast<size_t>(k)] - (g.chance(20) ? n : 0);
    }
  const Value updates = g.random_constant(x->type, shape);
  const char* reduction = g.one_of({"none", "none", "add", "max", "min"});
  if (g.opset() < (reduction[0] == 'm' ? 18 : reduction[0] == 'a' ? 16 : 13)) return false;
  auto r = scattered(*x, updates, reduction[0] == 'a');
  if (!r) return false;
  Node node = g.add("ScatterElements", {*x, g.constant(Constant::of(dtype::i64, shape, indices)), updates}, *r);
  node.integer("axis", static_cast<int64_t>(axis));
  if (reduction[0] != 'n') node.text("reduction", reduction);
  return true;
}

// Slices or elements, with the first axis as batch at times.
bool add_gather_nd(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() > 0 && !v.is_symbolic() && v.count() > 0; });
  if (!x) return false;
  const int64_t batch = x->rank() > 1 && g.chance(30) ? 1 : 0, count = 1 + g.draw(4),
                depth = 1 + g.draw(static_cast<int>(x->rank() - batch));
  std::vector<int64_t> shape, list;
  if (batch) shape.push_back(x->shape[0].number);
  shape.insert(shape.end(), {count, depth});
  int64_t rows = count;
  if (batch) rows *= shape[0];
  for (int64_t k = 0; k < rows * depth; ++k) {
    const auto n = static_cast<int>(x->shape[static_cast<size_t>(batch + k % depth)].number);
    list.push_back(g.draw(2 * n) - n);
  }
  Value r = x->renamed("");
  r.shape.assign(x->shape.begin(), x->shape.begin() + batch);
  r.shape.push_back({count, ""});
  r.shape.insert(r.shape.end(), x->shape.begin() + batch + depth, x->shape.end());
  g.add("GatherND", {*x, g.constant(Constant::of(dtype::i64, shape, list))}, r).integer("batch_dims", batch);
  return true;
}

bool add_top(Graph& g) {
  auto x =
      g.any([](const Value& v) { return has_known_axis(v) && v.exact() && !is_bool(v.type) && v.type != dtype::bf16; });
  if (!x) return false;
  const int64_t axis = known_axis(g, *x), n = x->shape[static_cast<size_t>(axis)].number,
                k = 1 + g.draw(static_cast<int>(n));
  Value values = x->renamed(""), indices{"", dtype::i64, x->shape, static_cast<double>(n), 1};
  values.shape[static_cast<size_t>(axis)].number = indices.shape[static_cast<size_t>(axis)].number = k;
  g.add("TopK", {*x, g.indices({k})}, {values, indices}).integer("axis", axis).integer("largest", g.draw(2));
  return true;
}

bool add_arg(Graph& g) {
  auto x = g.any([](const Value& v) { return has_known_axis(v) && v.exact() && !is_bool(v.type); });
  if (!x) return false;
  const int64_t axis = known_axis(g, *x);
  Value r{"", dtype::i64, x->shape, static_cast<double>(x->shape[static_cast<size_t>(axis)].number), 1};
  const bool kept = g.chance(50);
  if (kept)
    r.shape[static_cast<size_t>(axis)] = {};
  else
    r.shape.erase(r.shape.begin() + axis);
  g.add(g.one_of({"ArgMax", "ArgMin"}), {*x}, r)
      .integer("axis", axis)
      .integer("keepdims", kept)
      .integer("select_last_index", g.draw(2));
  return true;
}

bool add_one_hot(Graph& g) {
  auto x = g.any(
      [](const Value& v) { return v.type == dtype::i64 && v.exact() && v.bound < 8 && v.rank() > 0 && v.rank() < 4; });
  if (!x) return false;
  const DType t = g.one_of({dtype::f32, dtype::i32, dtype::i64});
  Value r{"", t, x->shape, 2, 1};
  const int64_t axis = g.draw(static_cast<int>(x->rank()) + 1);
  r.shape.insert(r.shape.begin() + axis, Size{8, ""});
  g.add("OneHot", {*x, g.constant(dtype::i64, {}, {8}), g.constant(t, {2}, {-1, 2})}, r).integer("axis", axis);
  return true;
}

bool add_cumulation(Graph& g) {
  auto x = g.any([](const Value& v) {
    return v.rank() > 0 &&
           (v.type == dtype::f32 || v.type == dtype::f64 || (is_integer(v.type) && bits(v.type) >= 32)) &&
           v.bound < 100;
  });
  if (!x) return false;
  const int64_t axis = g.draw(static_cast<int>(x->rank()));
  Value r = x->renamed("");
  const double n = static_cast<double>(std::max<int64_t>(1, x->shape[static_cast<size_t>(axis)].number));
  r.bound *= n;
  if (!(r.exact() && holds(r.type, r.bound, r.grain))) {
    if (!is_float(r.type)) return false;
    r.grain = 0, r.error = n * x->error + n * epsilon(r.type) * r.bound;
  }
  g.add("CumSum", {*x, g.constant(dtype::i64, {}, {static_cast<double>(axis)})}, r)
      .integer("exclusive", g.draw(2))
      .integer("reverse", g.draw(2));
  return true;
}

// The axes of a reduction are an input, or an attribute before operator set 18 except for ReduceSum.
bool add_reduction(Graph& g) {
  const char* op = g.one_of({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                             "ReduceSumSquare", "ReduceLogSumExp"});
  const bool choice = !std::strcmp(op, "ReduceMax") || !std::strcmp(op, "ReduceMin"),
             sum = !std::strcmp(op, "ReduceSum");
  auto x = g.any([&](const Value& v) {
    return v.count() > 0 && v.bound <= 16 && !is_bool(v.type) &&
           (is_float(v.type) || ((choice || sum) && (v.type == dtype::i32 || v.type == dtype::i64)));
  });
  if (!x) return false;
  std::vector<int64_t> axes;
  Value r{"", x->type, {}, x->bound, x->grain, x->error};
  const bool kept = g.chance(50), all = g.chance(15);
  double n = 1;
  for (int64_t k = 0; k < x->rank(); ++k) {
    const Size& s = x->shape[static_cast<size_t>(k)];
    if (all || g.chance(50)) {
      axes.push_back(g.chance(30) ? k - x->rank() : k);
      n *= static_cast<double>(s.number);
      if (kept) r.shape.push_back({});
    } else {
      r.shape.push_back(s);
    }
  }
  if (axes.empty()) return false;
  if (!choice) {
    const bool squares = std::strstr(op, "2") || std::strstr(op, "Square"), logarithm = std::strstr(op, "Log");
    r.bound = squares ? n * std::max(1., x->bound * x->bound) : logarithm ? x->bound + n : n * x->bound;
    r.grain = sum && x->exact() && holds(r.type, r.bound, x->grain) ? x->grain : 0;
    if (!r.exact()) {
      if (!is_float(r.type)) return false;
      r.error = (squares ? 2 * std::max(1., x->bound) : 1) * n * x->error + (n + 8) * epsilon(r.type) * r.bound;
      if (op[7] == '2' || std::strstr(op, "L2")) r.error = std::sqrt(r.error) + r.error;  // the slope of a root near 0
    }
  }
  const bool by_input = !std::strcmp(op, "ReduceSum") || g.opset() >= 18;
  std::vector<Value> operands = {*x};
  if (by_input && !all) operands.push_back(g.indices(axes));
  Node node = g.add(op, operands, r);
  node.integer("keepdims", kept);
  if (!by_input && !all) node.integers("axes", axes);
  return true;
}

}  // namespace

const std::vector<Operator>& selection_operators() {
  static const std::vector<Operator> rows = {
      add_gather, add_gather_elements, add_gather_nd,  add_scatter,   add_scatter_elements, add_top,
      add_arg,    add_one_hot,         add_cumulation, add_reduction, add_reduction};
  return rows;
}

}  // namespace dlcc::random_models
