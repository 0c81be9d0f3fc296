#include "tensor/schedules/symbolic_contraction.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "tensor/schedules/contraction.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_reduction.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The index in the panels of an element of the weights.
std::vector<Expr> index_in_panels(const Buffer& panels, std::vector<Expr> index, size_t n_dim) {
  const Expr n = index[n_dim], width(panels->shape.back());
  index.erase(index.begin() + static_cast<std::ptrdiff_t>(n_dim));
  index.insert(index.begin(), floor_div(n, width));
  index.push_back(floor_mod(n, width));
  return index;
}

void pack_weights(SymbolicContraction& plan, int64_t width) {
  const size_t n_dim = plan.n_dim;
  const Buffer& weights = plan.found.weights.buffer;
  const Var& last_k = plan.products.reduction->axes.back().var;
  Shape shape = weights->shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(n_dim));
  shape.insert(shape.begin(), floor_div(weights->shape[n_dim], width) + Dim(1));
  shape.push_back(width);
  plan.panels = make_buffer("panels", weights->type, std::move(shape), Scope::global, storage_alignment);
  plan.has_rows_of_k =
      is_var(plan.found.weights.indices.back(), last_k) && is_var(plan.found.data.indices.back(), last_k);
  plan.products.values[0] = rewrite(plan.products.values[0], [&](const Expr& e) {
    const Load* l = as<Load>(e);
    return l && l->buffer == weights ? load(plan.panels, index_in_panels(plan.panels, l->indices, n_dim)) : e;
  });
}

// The loop nest of one contraction for one machine.
class SymbolicContractionScheduler {
 public:
  SymbolicContractionScheduler(const TensorFunction& f, const SymbolicContraction& plan, const Machine& machine)
      : plan_(plan),
        stage_(plan.products),
        original_(f.stages[static_cast<size_t>(plan.found.stage)]),
        epilogue_(original_, plan.found.epilogue < 0 ? nullptr : &f.stages[static_cast<size_t>(plan.found.epilogue)]),
        machine_(machine),
        lanes_(std::max(1, machine.lanes(bits(stage_.values[0].type())))) {
    const RegisterTile tile = choose_register_tile(machine, lanes_, std::max(lanes_, machine.panel_widths[0]));
    rows_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(tile.rows)));
    n_per_tile_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(tile.vectors))) * lanes_;
  }

  Stmt run() const {
    if (!plan_.panels) return tiles();
    const Dim few = machine_.max_m_of_dot_products;
    Dim m = 1;
    for (const Axis& a : stage_.axes)
      if (!uses(plan_.found.weights, a.var)) m = m * a.extent;
    const Stmt packed = sequence({pack(), tiles()});
    if (!plan_.has_rows_of_k || provably_lt(few, m)) return packed;
    return provably_le(m, few) ? dot_products() : if_then(Expr(m) <= Expr(few), dot_products(), packed);
  }

 private:
  Stmt tiles() const {
    const size_t n = stage_.axes.size() - 1, m = n - 1;
    auto rows = [&](const Expr& left, int64_t wide) {
      return in_vectors(stage_.axes[m].extent, rows_, LoopKind::parallel,
                        [&](const Expr& top, int64_t tall) { return whole_vectors(top, tall, left, wide); });
    };
    Stmt body = in_vectors(stage_.axes[n].extent, plan_.panels ? panel_width() : n_per_tile_, LoopKind::parallel,
                           [&](const Expr& left, int64_t wide) { return each_tile(left, wide, rows); });
    for (size_t k = m; k-- > 0;)
      body = for_loop(stage_.axes[k].var, Expr(stage_.axes[k].extent), LoopKind::parallel, body);
    return body;
  }

  Stmt pack() const {
    const Load& weights = plan_.found.weights;
    const size_t n_dim = plan_.n_dim;
    return in_vectors(
        stage_.axes.back().extent, panel_width(), LoopKind::parallel, [&](const Expr& left, int64_t wide) {
          Shape others = weights.buffer->shape;
          others[n_dim] = wide;
          StorageLoops loops = storage_loops({}, others);
          std::swap(loops.vars[n_dim], loops.vars.back());  // N innermost
          std::swap(loops.extents[n_dim], loops.extents.back());
          std::vector<Expr> from = loops.index;
          from[n_dim] = left + from[n_dim];
          const Stmt copy = store(plan_.panels, index_in_panels(plan_.panels, from, n_dim), load(weights.buffer, from));
          return loops.wrap(copy, 0, loops.vars.size(), LoopKind::vector);
        });
  }

  // Each result as a dot product along the last reduced axis.
  Stmt dot_products() const {
    std::vector<Expr> index;
    for (const Axis& a : original_.axes) index.push_back(a.var);
    Stmt body = reduce_along_row(original_, index, lanes_, machine_,
                                 [&](const Expr& total) { return epilogue_.store_total(total, index); });
    if (epilogue_.has_finish()) body = sequence({body, epilogue_.finish(index)});
    // M innermost: a row of weights is read from the cache for all rows of data.
    std::vector<Axis> loops = original_.axes;
    std::swap(loops[loops.size() - 2], loops.back());
    for (size_t k = loops.size(); k-- > 0;)
      body = for_loop(loops[k].var, Expr(loops[k].extent), LoopKind::parallel, body);
    return body;
  }

  int64_t panel_width() const { return plan_.panels->shape.back().value(); }

  // The N indices [left, left + wide) in tiles of n_per_tile_, then one of the rest.
  Stmt each_tile(const Expr& left, int64_t wide, const std::function<Stmt(const Expr&, int64_t)>& tile) const {
    const int64_t whole = wide / n_per_tile_, rest = wide % n_per_tile_;
    Var t = make_var("tile");
    return sequence({for_loop(t, whole, LoopKind::parallel, tile(left + Expr(t) * Expr(n_per_tile_), n_per_tile_)),
                     rest ? tile(left + Expr(whole * n_per_tile_), rest) : nullptr});
  }

  // The tall x wide results that begin at (top, left): a tile of whole vectors, then one of a shorter vector.
  Stmt whole_vectors(const Expr& top, int64_t tall, const Expr& left, int64_t wide) const {
    const int64_t whole = wide / lanes_, rest = wide % lanes_;
    return sequence({whole ? tile(top, tall, left, whole, lanes_) : nullptr,
                     rest ? tile(top, tall, left + Expr(whole * lanes_), 1, rest) : nullptr});
  }

  // A register tile: `tall` rows from `top` on, and `vectors` vectors of `lanes` N indices from `left` on.
  Stmt tile(const Expr& top, int64_t tall, const Expr& left, int64_t vectors, int64_t lanes) const {
    Var y = make_var("y"), v = make_var("v"), lane = make_var("lane");
    const std::vector<Expr> element = {y, v, lane};
    std::vector<Expr> index;
    for (const Axis& a : stage_.axes) index.push_back(a.var);
    index[index.size() - 2] = top + Expr(y);
    index.back() = left + Expr(v) * Expr(lanes) + Expr(lane);
    auto each = [&](const Stmt& body) {
      Stmt row = for_loop(v, vectors, LoopKind::unrolled, for_loop(lane, lanes, LoopKind::vector, body));
      return for_loop(y, tall, LoopKind::unrolled, row);
    };
    Buffer acc = make_buffer("acc", stage_.results[0]->type, {tall, vectors, lanes}, Scope::reg);
    const Expr product = at_index(stage_.values[0], stage_, index);
    Stmt add = each(store(acc, element, multiply_add(product, load(acc, element), machine_)));
    for (size_t k = stage_.reduction->axes.size(); k-- > 0;) {
      const Axis& a = stage_.reduction->axes[k];
      add = for_loop(a.var, Expr(a.extent), LoopKind::serial, add);
    }
    Stmt all = sequence({each(store(acc, element, literal(acc->type, int64_t{0}))), add,
                         each(epilogue_.store_total(load(acc, element), index))});
    return sequence({allocate(acc, all), epilogue_.has_finish() ? each(epilogue_.finish(index)) : nullptr});
  }

  const SymbolicContraction& plan_;
  const Stage &stage_, &original_;
  Epilogue epilogue_;
  const Machine& machine_;
  int64_t lanes_, rows_, n_per_tile_;
};

}  // namespace

std::optional<SymbolicContraction> plan_symbolic_contraction(const TensorFunction& f,
                                                             const std::map<Buffer, Layout>& layouts,
                                                             const std::vector<bool>& constant,
                                                             const Machine& storage_machine) {
  if (symbols_of(f).empty()) return std::nullopt;
  auto found = find_contraction(f, constant);
  if (!found) return std::nullopt;
  const Stage& stage = f.stages[static_cast<size_t>(found->stage)];
  if (stage.axes.size() < 2 || stage.axes.back().extent == Dim(1)) return std::nullopt;
  const Load& weights = found->weights;
  const Var &m = stage.axes[stage.axes.size() - 2].var, &n = stage.axes.back().var;
  const int n_dim = dimension_along(weights, n).value_or(-1);
  const bool is_packed = !std::cmp_equal(n_dim + 1, weights.indices.size());
  if (n_dim < 0 || uses(weights, m) || uses(found->data, n) || (is_packed && weights.otherwise)) return std::nullopt;
  if (std::ranges::any_of(layouts, [](const auto& of) { return !of.second.is_dense(); })) return std::nullopt;
  for (const Stage& s : f.stages)
    if (!s.requirements.empty() || std::ranges::any_of(s.axes, [](const Axis& a) { return a.extent == Dim(0); }))
      return std::nullopt;
  SymbolicContraction plan{*found, stage, {}, static_cast<size_t>(n_dim), false};
  if (is_packed) pack_weights(plan, storage_machine.panel_widths[0]);
  return plan;
}

Stmt schedule_symbolic_contraction(const TensorFunction& f, const SymbolicContraction& plan, const Machine& machine) {
  return SymbolicContractionScheduler(f, plan, machine).run();
}

}  // namespace dlcc::tensor
