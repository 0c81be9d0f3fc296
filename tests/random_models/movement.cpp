// Operators that move elements: the result has elements of the operands, and perhaps a constant.
#include <algorithm>

#include "graph.h"

namespace dlcc::random_models {
namespace {

bool has_axes(const Value& v) { return v.rank() > 0; }
bool is_static(const Value& v) { return !v.is_symbolic(); }

Value with_shape(const Value& v, std::vector<Size> shape) {
  Value r = v.renamed("");
  r.shape = std::move(shape);
  return r;
}

// An axis, counted from the end at times.
int64_t spelled(Graph& g, int64_t axis, int64_t rank) { return g.chance(30) ? axis - rank : axis; }

Size sum_of(const Size& a, const Size& b) {
  const auto text = [](const Size& s) { return s.symbol.empty() ? std::to_string(s.number) : s.symbol; };
  return {a.number + b.number, a.symbol.empty() && b.symbol.empty() ? "" : "(" + text(a) + "+" + text(b) + ")"};
}

Size product_of(const Value& v, size_t from, size_t to) {
  Size r;
  for (size_t k = from; k < to; ++k) {
    const Size& s = v.shape[k];
    r.number *= s.number;
    if (!s.symbol.empty() || !r.symbol.empty())
      r.symbol += "*" + (s.symbol.empty() ? std::to_string(s.number) : s.symbol);
  }
  return r;
}

bool add_transpose(Graph& g) {
  auto x = g.any(has_axes);
  if (!x) return false;
  const std::vector<int64_t> order = g.permutation(x->rank());
  std::vector<Size> shape;
  for (int64_t k : order) shape.push_back(x->shape[static_cast<size_t>(k)]);
  g.add("Transpose", {*x}, with_shape(*x, shape)).integers("perm", order);
  return true;
}

// To a shape of the same elements: two neighbouring axes become one, or an axis of even size becomes two.
bool add_reshape(Graph& g) {
  auto x = g.any([](const Value& v) { return v.count() > 0; });
  if (!x || x->rank() > 5) return false;
  std::vector<Size> shape = x->shape;
  const bool merge = x->rank() >= 2 && g.chance(60);
  std::vector<int64_t> numbers;
  if (merge) {
    const auto k = static_cast<size_t>(g.draw(static_cast<int>(x->rank()) - 1));
    shape[k] = product_of(*x, k, k + 2);
    shape.erase(shape.begin() + static_cast<long>(k) + 1);
    int unknown = 0;
    for (size_t a = 0; a < shape.size(); ++a) {
      if (a > k && !shape[a].symbol.empty()) ++unknown;
      numbers.push_back(a < k ? 0 : a == k ? -1 : shape[a].number);
    }
    if (unknown) return false;
  } else {
    if (x->is_symbolic()) return false;
    size_t k = 0;
    while (k < shape.size() && shape[k].number % 2) ++k;
    if (k == shape.size())
      shape.push_back({1, ""});
    else
      shape[k].number /= 2, shape.insert(shape.begin() + static_cast<long>(k), Size{2, ""});
    for (const Size& s : shape) numbers.push_back(s.number);
  }
  g.add("Reshape", {*x, g.indices(numbers)}, with_shape(*x, shape));
  return true;
}

bool add_flatten(Graph& g) {
  auto x = g.any(has_axes);
  if (!x) return false;
  const int64_t axis = g.draw(static_cast<int>(x->rank()));
  const auto k = static_cast<size_t>(axis);
  g.add("Flatten", {*x}, with_shape(*x, {product_of(*x, 0, k), product_of(*x, k, x->shape.size())}))
      .integer("axis", spelled(g, axis, x->rank()));
  return true;
}

bool add_unsqueeze(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() < 5; });
  if (!x) return false;
  const int64_t axis = g.draw(static_cast<int>(x->rank()) + 1);
  std::vector<Size> shape = x->shape;
  shape.insert(shape.begin() + axis, Size{});
  g.add("Unsqueeze", {*x, g.indices({spelled(g, axis, x->rank() + 1)})}, with_shape(*x, shape));
  return true;
}

bool add_squeeze(Graph& g) {
  auto x = g.any([](const Value& v) { return std::ranges::find(v.shape, Size{}) != v.shape.end(); });
  if (!x) return false;
  std::vector<Size> shape = x->shape;
  const auto one = std::ranges::find(shape, Size{});
  const int64_t axis = one - shape.begin();
  shape.erase(one);
  g.add("Squeeze", {*x, g.indices({spelled(g, axis, x->rank())})}, with_shape(*x, shape));
  return true;
}

bool add_concat(Graph& g) {
  auto x = g.any(has_axes);
  if (!x) return false;
  const auto axis = static_cast<size_t>(g.draw(static_cast<int>(x->rank())));
  auto fits = [&](const Value& v) {
    if (v.type != x->type || v.rank() != x->rank()) return false;
    for (size_t k = 0; k < v.shape.size(); ++k)
      if (k != axis && v.shape[k] != x->shape[k]) return false;
    return true;
  };
  std::vector<Value> parts = {*x};
  for (int k = g.draw(3); k >= 0; --k) parts.push_back(*g.any(fits));
  Value r = x->renamed("");
  for (size_t k = 1; k < parts.size(); ++k) {
    r.shape[axis] = sum_of(r.shape[axis], parts[k].shape[axis]);
    r.bound = std::max(r.bound, parts[k].bound);
    r.error = std::max(r.error, parts[k].error);
    r.grain = r.exact() && parts[k].exact() ? std::min(r.grain, parts[k].grain) : 0;
  }
  g.add("Concat", parts, r).integer("axis", spelled(g, static_cast<int64_t>(axis), x->rank()));
  return true;
}

bool add_slice(Graph& g) {
  auto x = g.any([](const Value& v) {
    return std::ranges::any_of(v.shape, [](const Size& s) { return s.symbol.empty() && s.number > 0; });
  });
  if (!x) return false;
  std::vector<int64_t> starts, ends, axes, steps;
  Value r = x->renamed("");
  for (size_t k = 0; k < r.shape.size(); ++k) {
    if (!r.shape[k].symbol.empty() || g.chance(40)) continue;
    const int64_t n = r.shape[k].number, step = g.one_of({1, 1, 1, 2, 3, -1, -2});
    if (n == 0) continue;
    const int64_t start = g.draw(static_cast<int>(n)), length = g.draw(static_cast<int>(n)) + (g.chance(90) ? 1 : 0);
    int64_t count = 0;
    if (step > 0) {
      const int64_t end = std::min(n, start + length);
      count = (end - start + step - 1) / step;
      ends.push_back(end == n && g.chance(50) ? INT64_MAX : end);
    } else {
      const int64_t end = std::max<int64_t>(-1, start - length);
      count = (start - end - step - 1) / -step;
      ends.push_back(end == -1 ? INT64_MIN + 1 : end);
    }
    starts.push_back(g.chance(30) ? start - n : start);
    axes.push_back(spelled(g, static_cast<int64_t>(k), x->rank()));
    steps.push_back(step);
    r.shape[k].number = count;
  }
  if (axes.empty()) return false;
  const DType t = g.one_of({dtype::i32, dtype::i64});
  const int64_t far = t == dtype::i32 ? INT32_MAX : INT64_MAX;
  for (int64_t& end : ends)
    if (end == INT64_MAX || end == -INT64_MAX) end = end > 0 ? far : -far;
  std::vector<Value> operands = {*x};
  for (const auto* list : {&starts, &ends, &axes, &steps}) operands.push_back(g.indices(*list, t));
  g.add("Slice", operands, r);
  return true;
}

bool add_split(Graph& g) {
  auto x = g.any([](const Value& v) {
    return std::ranges::any_of(v.shape, [](const Size& s) { return s.symbol.empty() && s.number >= 2; });
  });
  if (!x) return false;
  size_t axis = 0;
  while (!x->shape[axis].symbol.empty() || x->shape[axis].number < 2) ++axis;
  const int64_t n = x->shape[axis].number, first = g.draw(static_cast<int>(n) + 1);
  Value a = x->renamed(""), b = x->renamed("");
  a.shape[axis].number = first, b.shape[axis].number = n - first;
  g.add("Split", {*x, g.indices({first, n - first})}, {a, b})
      .integer("axis", spelled(g, static_cast<int64_t>(axis), x->rank()));
  return true;
}

bool add_pad(Graph& g) {
  auto x =
      g.any([](const Value& v) { return v.rank() > 0 && v.count() > 0 && is_static(v) && v.type != dtype::boolean; });
  if (!x) return false;
  const char* mode = g.one_of({"constant", "constant", "reflect", "edge"});
  std::vector<int64_t> pads(x->shape.size() * 2);
  Value r = x->renamed("");
  for (size_t k = 0; k < pads.size(); ++k) {
    Size& size = r.shape[k % r.shape.size()];
    const int64_t own = x->shape[k % r.shape.size()].number;
    pads[k] = g.draw(static_cast<int>(std::min<int64_t>(3, mode[0] == 'r' ? own : 3)));
    if (mode[0] == 'c' && g.chance(15) && size.number > 1) pads[k] = -1;
    size.number += pads[k];
  }
  std::vector<Value> operands = {*x, g.indices(pads)};
  if (mode[0] == 'c' && g.chance(50)) operands.push_back(g.constant(x->type, {}, {1})), r.bound = std::max(r.bound, 1.);
  if (r.exact() && r.grain > 1) r.grain = 1;
  g.add("Pad", operands, r).text("mode", mode);
  return true;
}

bool add_expand(Graph& g) {
  auto x = g.any(is_static);
  if (!x || x->rank() > 4) return false;
  Value r = x->renamed("");
  std::vector<int64_t> shape;
  for (Size& s : r.shape) {
    if (s.number == 1) s.number = g.draw(3) + 1;
    shape.push_back(x->shape[shape.size()].number == 1 || g.chance(70) ? s.number : 1);
  }
  if (g.chance(50)) shape.insert(shape.begin(), 2), r.shape.insert(r.shape.begin(), Size{2, ""});
  g.add("Expand", {*x, g.indices(shape)}, r);
  return true;
}

bool add_tile(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() > 0 && is_static(v) && v.count() < 500; });
  if (!x) return false;
  Value r = x->renamed("");
  std::vector<int64_t> repeats;
  for (Size& s : r.shape) {
    repeats.push_back(1 + g.draw(2));
    s.number *= repeats.back();
  }
  g.add("Tile", {*x, g.indices(repeats)}, r);
  return true;
}

bool add_depth_to_space(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() == 4 && is_static(v) && v.shape[1].number % 4 == 0; });
  if (!x) return false;
  std::vector<Size> shape = x->shape;
  shape[1].number /= 4, shape[2].number *= 2, shape[3].number *= 2;
  g.add("DepthToSpace", {*x}, with_shape(*x, shape)).integer("blocksize", 2).text("mode", g.one_of({"DCR", "CRD"}));
  return true;
}

bool add_triangle(Graph& g) {
  auto x = g.any([](const Value& v) { return v.rank() >= 2; });
  if (!x || g.opset() < 14) return false;
  Node n = g.add("Trilu", {*x, g.constant(dtype::i64, {}, {static_cast<double>(g.draw(5) - 2)})}, x->renamed(""));
  n.integer("upper", g.draw(2));
  return true;
}

bool add_shape(Graph& g) {
  auto x = g.any([](const Value&) { return true; });
  if (!x) return false;
  Value r{"", dtype::i64, {}, 1, 1};
  for (const Size& s : x->shape) r.bound = std::max<double>(r.bound, static_cast<double>(s.number));
  if (g.chance(30)) {
    r.bound = static_cast<double>(std::max<int64_t>(1, x->count()));
    g.add("Size", {*x}, r);
  } else {
    r.shape = {{x->rank(), ""}};
    g.add("Shape", {*x}, r);
  }
  return true;
}

}  // namespace

const std::vector<Operator>& movement_operators() {
  static const std::vector<Operator> rows = {
      add_transpose, add_reshape, add_flatten, add_unsqueeze, add_squeeze,        add_concat,   add_slice,
      add_split,     add_pad,     add_expand,  add_tile,      add_depth_to_space, add_triangle, add_shape};
  return rows;
}

}  // namespace dlcc::random_models
