#include "tensor/schedules/symbolic_contraction.h"

#include <algorithm>
#include <bit>

#include "tensor/schedules/contraction.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The loop nest of one contraction for one machine.
class Scheduler {
 public:
  Scheduler(const TensorFunction& f, const Contraction& contraction, const Machine& machine)
      : stage_(f.stages[static_cast<size_t>(contraction.stage)]),
        epilogue_(stage_, contraction.epilogue < 0 ? nullptr : &f.stages[static_cast<size_t>(contraction.epilogue)]),
        machine_(machine),
        lanes_(std::max(1, machine.lanes(bits(stage_.values[0].type())))) {
    const RegisterTile tile = choose_register_tile(machine, lanes_, std::max(lanes_, machine.panel_widths[0]));
    rows_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(tile.rows)));
    columns_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(tile.vectors))) * lanes_;
  }

  Stmt run() const {
    const size_t n = stage_.axes.size() - 1, m = n - 1;
    Stmt body = in_vectors(stage_.axes[n].extent, columns_, LoopKind::parallel, [&](const Expr& left, int64_t wide) {
      return in_vectors(stage_.axes[m].extent, rows_, LoopKind::parallel,
                        [&](const Expr& top, int64_t tall) { return whole_vectors(top, tall, left, wide); });
    });
    for (size_t k = m; k-- > 0;)
      body = for_loop(stage_.axes[k].var, Expr(stage_.axes[k].extent), LoopKind::parallel, body);
    return body;
  }

 private:
  // The tall x wide results that begin at (top, left): a tile of whole vectors, then one of a shorter vector.
  Stmt whole_vectors(const Expr& top, int64_t tall, const Expr& left, int64_t wide) const {
    const int64_t whole = wide / lanes_, rest = wide % lanes_;
    return sequence({whole ? tile(top, tall, left, whole, lanes_) : nullptr,
                     rest ? tile(top, tall, left + Expr(whole * lanes_), 1, rest) : nullptr});
  }

  // A register tile: `tall` rows from `top` on, and `vectors` vectors of `lanes` columns from `left` on.
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

  const Stage& stage_;
  Epilogue epilogue_;
  const Machine& machine_;
  int64_t lanes_, rows_, columns_;
};

}  // namespace

std::optional<Contraction> find_symbolic_contraction(const TensorFunction& f, const std::map<Buffer, Layout>& layouts,
                                                     const std::vector<bool>& constant) {
  if (symbols_of(f).empty()) return std::nullopt;
  auto found = find_contraction(f, constant);
  if (!found) return std::nullopt;
  const Stage& stage = f.stages[static_cast<size_t>(found->stage)];
  if (stage.axes.size() < 2) return std::nullopt;
  const Load& weights = found->weights;
  const Var &m = stage.axes[stage.axes.size() - 2].var, &n = stage.axes.back().var;
  auto uses_n = [&](const Expr& index) { return uses(index, n); };
  if (!is_var(weights.indices.back(), n) || std::ranges::count_if(weights.indices, uses_n) != 1 || uses(weights, m) ||
      uses(found->data, n))
    return std::nullopt;
  if (std::ranges::any_of(layouts, [](const auto& of) { return !of.second.is_dense(); })) return std::nullopt;
  for (const Stage& s : f.stages)
    if (!s.requirements.empty() || std::ranges::any_of(s.axes, [](const Axis& a) { return a.extent == Dim(0); }))
      return std::nullopt;
  return found;
}

Stmt schedule_symbolic_contraction(const TensorFunction& f, const Contraction& contraction, const Machine& machine) {
  return Scheduler(f, contraction, machine).run();
}

}  // namespace dlcc::tensor
