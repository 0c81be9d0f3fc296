#include "tensor/analysis.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Whether the load follows the rule of broadcasting: dimensions are aligned from the last, and each index is the
// stage's axis that it is aligned with, or 0 along a broadcast dimension.
bool reads_elementwise(const Load& load, const Stage& stage) {
  if (load.otherwise || load.indices.size() > stage.axes.size()) return false;
  size_t shift = stage.axes.size() - load.indices.size();
  for (size_t k = 0; k < load.indices.size(); ++k) {
    bool broadcast = load.buffer->shape[k] == Dim(1) && constant_integer(load.indices[k]) == 0;
    if (!broadcast && !is_var(load.indices[k], stage.axes[shift + k].var)) return false;
  }
  return true;
}

// Whether the load's indices, but for constant zeros, are a subsequence of the stage's axes, as for a bias.
bool reads_along_axes(const Load& load, const Stage& stage) {
  if (load.otherwise) return false;
  size_t next = 0;
  for (const Expr& index : load.indices) {
    if (constant_integer(index) == 0) continue;
    while (next < stage.axes.size() && !is_var(index, stage.axes[next].var)) ++next;
    if (next == stage.axes.size()) return false;
    ++next;
  }
  return true;
}

bool is_elementwise(const Stage& stage) {
  if (stage.body || stage.reduction || !stage.origin.empty() || stage.results.size() != 1) return false;
  bool reads_full = false;
  auto loads = loads_of(stage.values[0]);
  for (const Load& l : loads) {
    if (!reads_elementwise(l, stage) && !reads_along_axes(l, stage)) return false;
    reads_full = true;
  }
  return reads_full || loads.empty();
}

const Load* as_factor(const Expr& e) {
  if (const Cast* c = as<Cast>(e)) return as<Load>(c->a);
  return as<Load>(e);
}

bool is_sum_of_products(const Stage& stage) {
  if (!stage.reduction || reducer_kind(*stage.reduction) != ReducerKind::sum || !stage.requirements.empty())
    return false;
  if (!stage.origin.empty()) return false;
  const Binary* product = as<Binary>(stage.values[0]);
  return product && product->op == BinaryOp::mul && as_factor(product->a) && as_factor(product->b) &&
         !is_bool(product->a.type());
}

}  // namespace

bool is_order_independent(const Reduction& r) {
  if (reducer_kind(r) != ReducerKind::other) return true;
  if (r.combined.size() != 1) return false;
  const Expr a = r.left[0], b = r.right[0];
  return structurally_equal(r.combined[0], select(b > a, b, a));
}

bool reads_at_own_index(const Stage& stage, const BufferNode* buffer) {
  for (const Expr& value : stage.values)
    for (const Load& l : loads_of(value)) {
      if (l.buffer.get() != buffer) continue;
      if (l.otherwise || l.indices.size() != stage.axes.size()) return false;
      for (size_t k = 0; k < l.indices.size(); ++k) {
        const bool is_only_index = stage.axes[k].extent == Dim(1) && constant_integer(l.indices[k]) == 0;
        if (!is_only_index && !is_var(l.indices[k], stage.axes[k].var)) return false;
      }
    }
  return true;
}

std::optional<int> dimension_along(const Load& l, const Var& v) {
  int found = -1;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    if (!uses(l.indices[d], v)) continue;
    if (found >= 0 || !is_var(l.indices[d], v)) return std::nullopt;
    found = static_cast<int>(d);
  }
  return found;
}

int axis_read_at(const Stage& stage, const Buffer& buffer, int d) {
  int axis = -1;
  for (const Expr& v : stage.values)
    for (const Load& l : loads_of(v)) {
      if (l.buffer != buffer) continue;
      Expr index = simplify(l.indices[static_cast<size_t>(d)], ranges_of(stage));
      const VarRef* ref = as<VarRef>(index);
      auto it = ref ? std::ranges::find(stage.axes, ref->var, &Axis::var) : stage.axes.end();
      if (it == stage.axes.end()) return -1;
      int found = static_cast<int>(it - stage.axes.begin());
      if (axis >= 0 && axis != found) return -1;
      axis = found;
    }
  return axis;
}

OpPattern pattern_of(const TensorFunction& f) {
  if (f.results.size() != 1 || has_body(f)) return OpPattern::opaque;
  int reductions = 0;
  bool all_elementwise = true;
  for (size_t k = 0; k < f.stages.size(); ++k) {
    const Stage& stage = f.stages[k];
    if (stage.results.size() != 1 || !stage.origin.empty()) return OpPattern::opaque;
    if (stage.reduction) {
      ++reductions;
    } else if (!is_elementwise(stage)) {
      all_elementwise = false;
    }
  }
  if (reductions == 0) {
    if (all_elementwise) return OpPattern::elementwise;
    return f.stages.size() == 1 ? OpPattern::injective : OpPattern::opaque;
  }
  if (!all_elementwise) return OpPattern::opaque;
  const bool is_chain = reductions > 1 || !f.stages[0].reduction;
  if (is_chain) return f.stages.back().reduction ? OpPattern::opaque : OpPattern::row_chain;
  return is_sum_of_products(f.stages[0]) ? OpPattern::contraction : OpPattern::reduction;
}

std::vector<Symbol> symbols_of(const TensorFunction& f) {
  std::map<std::string, Symbol> found;
  auto add = [&](const Dim& d) {
    for (const Symbol& s : d.symbols()) found.emplace(s.name, s);
  };
  auto add_shapes = [&](const std::vector<Buffer>& buffers) {
    for (const Buffer& b : buffers) std::ranges::for_each(b->shape, add);
  };
  auto add_variables = [&](const Expr& e) {
    for (const Var& v : variables_in(e))
      if (is_symbol_var(v)) found.emplace(v->name, Symbol{v->name});
  };
  add_shapes(f.params), add_shapes(f.results);
  for (const Stage& stage : f.stages) {
    add_shapes(stage.results);
    for (const Axis& a : stage.axes) add(a.extent);
    std::ranges::for_each(stage.origin, add);
    if (!stage.reduction) continue;
    for (const Axis& a : stage.reduction->axes) add(a.extent);
  }
  for (const Stage& stage : f.stages) for_each_root_expr(stage, add_variables);
  std::vector<Symbol> symbols;
  for (const auto& [name, symbol] : found) symbols.push_back(symbol);
  return symbols;
}

bool is_innermost(const BufferNode& b, size_t d) {
  return std::all_of(b.shape.begin() + static_cast<std::ptrdiff_t>(d) + 1, b.shape.end(),
                     [](const Dim& later) { return later == Dim(1); });
}

bool has_body(const TensorFunction& f) {
  return std::ranges::any_of(f.stages, [](const Stage& s) { return s.body != nullptr; });
}

bool is_plain(const Stage& s) { return !s.body && s.results.size() == 1 && s.origin.empty() && s.requirements.empty(); }

std::optional<Contraction> find_contraction(const TensorFunction& f, const std::vector<bool>& constant) {
  if (f.results.size() != 1 || f.stages.empty() || f.stages.size() > 2 || !is_sum_of_products(f.stages[0]))
    return std::nullopt;
  const Stage& stage = f.stages[0];
  Contraction c{0, -1, {}, {}};
  if (f.stages.size() == 2) {
    const Stage& epilogue = f.stages[1];
    if (epilogue.body || epilogue.reduction || !epilogue.origin.empty() || epilogue.results[0] != f.results[0])
      return std::nullopt;
    if (epilogue.axes.size() != stage.axes.size() || !reads_at_own_index(epilogue, stage.results[0].get()))
      return std::nullopt;
    c.epilogue = 1;
  } else if (stage.results[0] != f.results[0]) {
    return std::nullopt;
  }
  const Binary& product = *as<Binary>(stage.values[0]);
  const Load &a = *as_factor(product.a), &b = *as_factor(product.b);
  auto is_constant = [&](const Load& l) {
    for (size_t k = 0; k < f.params.size(); ++k)
      if (f.params[k] == l.buffer) return static_cast<bool>(constant[k]);
    return false;
  };
  // The N axis is one of the weights' indices, and occurs in the data as the index of groups at most. If neither
  // operand is constant, the weights are the operand with the last such axis.
  auto last_own_axis = [&](const Load& own, const Load& other) {
    int last = -1;
    for (size_t k = 0; k < stage.axes.size(); ++k)
      if (const Var& v = stage.axes[k].var; n_per_group(other, v) != 1 && dimension_along(own, v).value_or(-1) >= 0)
        last = static_cast<int>(k);
    return last;
  };
  bool b_is_weights = is_constant(a) != is_constant(b) ? is_constant(b) : last_own_axis(b, a) >= last_own_axis(a, b);
  c.data = b_is_weights ? a : b;
  c.weights = b_is_weights ? b : a;
  return c;
}

int64_t n_per_group(const Load& data, const Var& axis) {
  int64_t common = 0;
  auto hide = [&](const Expr& e) {
    const Binary* b = as<Binary>(e);
    auto q = b && b->op == BinaryOp::floor_div ? constant_integer(b->b) : std::nullopt;
    if (!q || *q <= 0 || !is_var(b->a, axis)) return e;
    common = std::gcd(common, *q);
    return Expr(0);
  };
  for (const Expr& i : data.indices)
    if (uses(rewrite(i, hide), axis)) return 1;
  return common;
}

int channel_axis(const TensorFunction& f, const std::vector<bool>& constant, int64_t block) {
  auto c = find_contraction(f, constant);
  if (!c) return -1;
  const auto& axes = f.stages[0].axes;
  // In a product of run-time matrices, vectors along the innermost axis need no blocks.
  const auto weights = std::ranges::find(f.params, c->weights.buffer) - f.params.begin();
  if (!constant[static_cast<size_t>(weights)] && !axes.empty() && uses(c->weights, axes.back().var)) return -1;
  for (size_t k = 0; k + 1 < axes.size(); ++k)
    if (uses(c->weights, axes[k].var) && n_per_group(c->data, axes[k].var) % block == 0 &&
        axes[k].extent.constant().value_or(0) >= std::max<int64_t>(block / 2, 1))
      return static_cast<int>(k);
  return -1;
}

std::optional<Chain> split_at_window_reduction(const TensorFunction& f) {
  if (f.stages.size() > most_stages_of_chain) return std::nullopt;
  size_t second = 1;
  while (second < f.stages.size() && !f.stages[second].reduction) ++second;
  if (second >= f.stages.size() || second > 2 || f.stages.size() > second + 2 || f.results.size() != 1 ||
      !is_sum_of_products(f.stages[0]) || !std::ranges::all_of(f.stages, is_plain))
    return std::nullopt;
  const Buffer& passed = f.stages[second - 1].results[0];
  for (size_t k = second; k < f.stages.size(); ++k)
    for (const Load& l : loads_of(f.stages[k].values[0])) {
      bool is_own = l.buffer == passed ? k == second : std::ranges::count(f.params, l.buffer) > 0;
      if (!is_own && (k == second || l.buffer != f.stages[second].results[0])) return std::nullopt;
    }
  auto middle = f.stages.begin() + static_cast<std::ptrdiff_t>(second);
  Chain chain{{f.name, f.params, {passed}, {f.stages.begin(), middle}},
              {f.name, f.params, f.results, {middle, f.stages.end()}}};
  chain.second.params.push_back(passed);
  return chain;
}

bool reads(const Expr& e, const Buffer& buffer) {
  auto loads = loads_of(e);
  return std::ranges::any_of(loads, [&](const Load& l) { return l.buffer == buffer; });
}

bool reads(const Stage& stage, const Buffer& buffer) {
  bool found = false;
  for_each_root_expr(stage, [&](const Expr& e) { found = found || reads(e, buffer); });
  return found;
}

bool provably_in_range(const Expr& index, const Dim& extent, const Ranges& ranges) {
  auto r = range_of(index, ranges);
  auto size = extent.constant();
  return r && size && r->low >= 0 && r->high < *size;
}

Ranges ranges_of(const Stage& stage) {
  Ranges ranges;
  auto add = [&](const std::vector<Axis>& axes) {
    for (const Axis& a : axes)
      if (auto n = a.extent.constant()) ranges[a.var] = {0, std::max<int64_t>(*n - 1, 0)};
  };
  add(stage.axes);
  if (stage.reduction) add(stage.reduction->axes);
  return ranges;
}

std::vector<Range> ranges_read(const Load& l, const Ranges& ranges) {
  std::vector<Range> read;
  for (const Expr& i : l.indices) {
    auto r = range_of(i, ranges);
    if (!r) return {};
    read.push_back(*r);
  }
  return read;
}

Dim multiply_accumulates(const TensorFunction& f) {
  Dim total = 0;
  for (const Stage& stage : f.stages) {
    if (!is_sum_of_products(stage)) continue;
    Dim points = 1;
    for (const Axis& a : stage.axes) points = points * a.extent;
    for (const Axis& a : stage.reduction->axes) points = points * a.extent;
    total = total + points;
  }
  return total;
}

bool is_expensive_node(const Expr& e) {
  if (const Unary* u = as<Unary>(e)) return is_float(e.type()) && u->op >= UnaryOp::sqrt && u->op <= UnaryOp::atanh;
  const Binary* b = as<Binary>(e);
  return b && (b->op == BinaryOp::pow || ((b->op == BinaryOp::div || b->op == BinaryOp::rem) && is_float(e.type())));
}

bool is_expensive(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& x) { found |= is_expensive_node(x); });
  return found;
}

bool has_long_code(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& x) {
    const Unary* u = as<Unary>(x);
    const Binary* b = as<Binary>(x);
    found |= is_expensive_node(x) && !(u && u->op == UnaryOp::sqrt) && !(b && b->op == BinaryOp::div);
  });
  return found;
}

bool defines_symbols(const TensorFunction& f) {
  std::set<std::string> defined;
  for (const std::vector<Buffer>& buffers : {f.params, f.results})
    for (const Buffer& b : buffers)
      for (const Dim& d : b->shape)
        for (const Symbol& s : d.symbols()) defined.insert(s.name);
  return std::ranges::all_of(symbols_of(f), [&](const Symbol& s) { return defined.contains(s.name); });
}

bool is_cheap_source(const TensorFunction& f) {
  if (f.stages.size() != 1 || f.results.size() != 1) return false;
  const Stage& stage = f.stages[0];
  return !stage.body && !stage.reduction && stage.requirements.empty() && loads_of(stage.values[0]).empty() &&
         !is_expensive(stage.values[0]);
}

}  // namespace dlcc::tensor
