#include "tensor/schedules/tiled_reduction.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "tensor/analysis.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_reduction.h"
#include "tensor/schedules/sizes.h"
#include "tensor/schedules/tiled_reduction_tile.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

double typical_elements(const Shape& shape) {
  double n = 1;
  for (const Dim& extent : shape) n *= static_cast<double>(typical_image_size(extent));
  return n;
}

// ---- the plan

class TiledReductionPlanner {
 public:
  TiledReductionPlanner(const TensorFunction& f, size_t k, const std::map<Buffer, Layout>& layouts,
                        const Machine& machine)
      : f_(f), k_(k), layouts_(layouts), machine_(machine) {}

  std::optional<TiledReductionPlan> run() {
    const Stage& stage = f_.stages[k_];
    if (!is_single_reduction(stage)) return std::nullopt;
    plan_.reduced = stage;
    const Ranges ranges = ranges_of(stage);
    plan_.reduced.values[0] = simplify(stage.values[0], ranges);
    plan_.epilogue = find_epilogue(f_, k_);
    if (plan_.epilogue) plan_.may_overwrite_operand = may_overwrite_operand(*plan_.epilogue);
    const Stage& last = plan_.epilogue ? *plan_.epilogue : plan_.reduced;
    const auto row_axis = row_axis_of(stage);
    if (!is_plain(last) || !layout_of(layouts_, last.results[0]).is_dense() || !row_axis) return std::nullopt;
    plan_.row_axis = static_cast<int>(*row_axis);
    plan_.by_row = reads_stage();
    if (plan_.by_row) find_block();
    for (const Load& l : loads_of(plan_.reduced.values[0]))
      if (!add_copy(l)) return std::nullopt;
    for (const Load& l : loads_of(plan_.reduced.values[0]))
      std::ranges::copy(tap_axes(l, plan_.reduced), std::back_inserter(plan_.tap_axes));
    read_copies();
    if (!reads_along_row()) return std::nullopt;
    return plan_;
  }

 private:
  // Whether the stage reads a result of an earlier stage.
  bool reads_stage() const {
    return std::any_of(f_.stages.begin(), f_.stages.begin() + static_cast<std::ptrdiff_t>(k_),
                       [&](const Stage& earlier) { return reads(f_.stages[k_], earlier.results[0]); });
  }

  bool may_overwrite_operand(const Stage& epilogue) const {
    return std::ranges::any_of(loads_of(epilogue.values[0]), [&](const Load& l) {
      return l.buffer != plan_.reduced.results[0] && l.buffer->shape == epilogue.results[0]->shape;
    });
  }

  // Finds an axis that occurs as floordiv(axis, block).
  void find_block() {
    for_each_expr(plan_.reduced.values[0], [&](const Expr& e) {
      const Binary* quotient = as<Binary>(e);
      const auto block = quotient && quotient->op == BinaryOp::floor_div ? constant_integer(quotient->b) : std::nullopt;
      for (size_t a = 0; block && a < plan_.reduced.axes.size(); ++a)
        if (is_var(quotient->a, plan_.reduced.axes[a].var))
          plan_.blocked_axis = static_cast<int>(a), plan_.block = *block;
    });
  }

  // A copy of the operand of a load that may read outside of it, or that reads elements at a distance often enough for
  // the copy to be worth its time. Empty if the load needs none, or the operand cannot be copied.
  std::optional<PaddedCopy> copy_of(const Load& l) const {
    const Stage& stage = f_.stages[k_];
    const Var& x = plan_.reduced.axes[static_cast<size_t>(plan_.row_axis)].var;
    const int64_t stride = !l.indices.empty() && uses(l.indices.back(), x) ? lane_stride(l, x) : 1;
    const bool is_strided = stride > 1 && stride <= machine_.max_lane_stride;
    if ((!l.otherwise && !is_strided) || std::ranges::count(f_.params, l.buffer) == 0) return std::nullopt;
    auto copy = plan_padded_copy(l, stage, x, is_strided);
    if (!copy || l.otherwise) return copy;
    double reads = 1;
    for (const auto* axes : {&stage.axes, &stage.reduction->axes})
      for (const Axis& a : *axes) reads *= typical_elements({a.extent});
    return reads >= machine_.min_reads_to_copy * typical_elements(copy->padded->shape) ? copy : std::nullopt;
  }

  // Plans a copy of the load's operand where it needs one. Several loads of one operand share its copy. False if the
  // operand cannot be copied.
  bool add_copy(const Load& l) {
    auto copy = copy_of(l);
    if (!copy) return !l.otherwise;
    for (const PaddedCopy& other : plan_.copies)
      if (other.operand == l.buffer) return are_equal(other, *copy);
    plan_.copies.push_back(std::move(*copy));
    return true;
  }

  void read_copies() {
    Expr& value = plan_.reduced.values[0];
    value = rewrite(value, [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l || !copy_of(*l)) return e;
      return load_from(*std::ranges::find(plan_.copies, l->buffer, &PaddedCopy::operand), *l);
    });
    value = simplify(value, ranges_of(plan_.reduced));
  }

  // Whether neighbouring results of a row read elements at a small constant distance in memory, or the same element.
  bool reads_along_row() const {
    const Var& x = plan_.reduced.axes[static_cast<size_t>(plan_.row_axis)].var;
    bool any = false;
    for (const Load& l : loads_of(plan_.reduced.values[0])) {
      if (bits(l.buffer->type) < 8) return false;
      for (size_t d = 0; d < l.indices.size(); ++d) {
        if (!uses(l.indices[d], x)) continue;
        const auto stride = stride_along(l.indices[d], x);
        if (!stride || *stride < 1 || *stride > machine_.max_lane_stride || !is_dense_row(l.buffer, d)) return false;
        any = true;
      }
    }
    return any;
  }

  bool is_dense_row(const Buffer& b, size_t d) const {
    return layout_of(layouts_, b).is_dense() && is_innermost(*b, d);
  }

  const TensorFunction& f_;
  size_t k_;
  const std::map<Buffer, Layout>& layouts_;
  const Machine& machine_;
  TiledReductionPlan plan_;
};

// ---- the loop nest

class TiledReductionScheduler {
 public:
  TiledReductionScheduler(const TiledReductionPlan& plan, const Machine& machine)
      : plan_(plan),
        machine_(machine),
        stage_(plan.reduced),
        epilogue_(plan.reduced, plan.epilogue ? &*plan.epilogue : nullptr) {
    lanes_ = lanes_of(stage_, machine);
    tile_ = choose_tile(plan, machine);
  }

  Stmt run() {
    std::vector<Stmt> all;
    for (const PaddedCopy& copy : plan_.copies) all.push_back(fill(copy));
    all.push_back(outer_loops());
    return sequence(std::move(all));
  }

 private:
  const Axis& axis(int k) const { return stage_.axes[static_cast<size_t>(k)]; }

  Stmt outer_loops() const {
    const Stmt body = tile_.unrolled_axis < 0 ? rows(Expr(0), 1) : unrolled_axis();
    return loops_over(0, first_inner_axis(), body);
  }

  // Loops over the axes [begin, end) but the row and the unrolled axis.
  Stmt loops_over(int begin, int end, Stmt body) const {
    for (int k = end; k-- > begin;)
      if (k == plan_.blocked_axis)
        body = in_blocks(axis(k), body);
      else if (k != plan_.row_axis && k != tile_.unrolled_axis)
        body = for_loop(axis(k).var, Expr(axis(k).extent), LoopKind::parallel, body);
    return body;
  }

  // The first axis whose loop is inside of the loop over the tiles of the unrolled axis. Usually there is none: a row
  // of the image stays in the cache for all tiles. If all weights together do not fit the cache, the loops over rows
  // are inside, so that the weights of one tile stay there for all rows.
  int first_inner_axis() const {
    const int axes = static_cast<int>(stage_.axes.size()), unrolled = tile_.unrolled_axis;
    if (unrolled < 0) return axes;
    double bytes = 0;  // of weights, which all rows read
    for (const Load& l : loads_of(stage_.values[0])) {
      auto uses_axis = [&](int k) {
        return std::ranges::any_of(l.indices, [&](const Expr& i) { return uses(i, axis(k).var); });
      };
      bool is_weights = uses_axis(unrolled);
      for (int k = unrolled + 1; k < axes; ++k) is_weights = is_weights && !uses_axis(k);
      if (is_weights) bytes += typical_elements(l.buffer->shape) * bits(l.buffer->type) / 8;
    }
    return bytes > static_cast<double>(machine_.l1_bytes) / 2 ? unrolled + 1 : axes;
  }

  Stmt in_blocks(const Axis& a, const Stmt& body) const {
    const Var block = make_var("block"), row = make_var(a.var->name);
    const int64_t rows = a.extent.value(), blocks = ceil_div(rows, plan_.block);
    const Expr first = Expr(block) * Expr(plan_.block);
    const Expr count = rows % plan_.block == 0 ? Expr(plan_.block) : min(Expr(plan_.block), Expr(rows) - first);
    const Stmt at = substitute(body, {{a.var, first + Expr(row)}});
    return simplify(for_loop(block, blocks, LoopKind::parallel, for_loop(row, count, LoopKind::serial, at)),
                    {{row, {0, plan_.block - 1}}});
  }

  Stmt unrolled_axis() const {
    const Dim& extent = axis(tile_.unrolled_axis).extent;
    const int64_t size = tile_.unrolled;
    const Dim tiles = floor_div(extent, size), rest = extent - tiles * Dim(size);
    if (!rest.is_constant() && !tile_.shares_operands)
      return in_halved_tiles(Expr(extent), size, [&](const Expr& first, int64_t count) { return rows(first, count); });
    if (!rest.is_constant() && repetition_of(plan_) == Repetition::allowed) return overlapping_tiles(extent);
    Var t = make_var("tile"), last = make_var("u");
    Stmt whole = for_loop(t, Expr(tiles), LoopKind::parallel, rows(Expr(t) * Expr(size), size));
    if (rest == Dim(0)) return whole;
    const Expr done = Expr(tiles * Dim(size));
    return sequence({whole, rest.is_constant()
                                ? rows(done, rest.value())
                                : for_loop(last, Expr(rest), LoopKind::serial, rows(done + Expr(last), 1))});
  }

  // Tiles of a symbolic number of indices of the unrolled axis that share operands, so that a small tile takes nearly
  // as long as a large one: those of the size that the plan has, if there are as many indices, else tiles of half the
  // size, else single indices.
  Stmt overlapping_tiles(const Dim& extent) const {
    auto tiles = [&](int64_t size, const Stmt& otherwise) {
      return with_overlap(
          0, extent, size, [&](const Expr& first) { return rows(first, size); }, otherwise);
    };
    Var u = make_var("u");
    const Stmt single = for_loop(u, Expr(extent), LoopKind::serial, rows(Expr(u), 1));
    const int64_t size = tile_.unrolled, half = ceil_div(size, 2);
    return tiles(size, half > 1 ? tiles(half, single) : single);
  }

  // `count` indices of the unrolled axis from `first` on, for the whole row and the axes inside of the tiles.
  Stmt rows(const Expr& first, int64_t count) const {
    const Stmt tiles = in_row_tiles(axis(plan_.row_axis).extent, tile_.vectors, lanes_, repetition_of(plan_),
                                    [&](const RowVectors& row) { return tile(first, count, row); });
    return loops_over(first_inner_axis(), static_cast<int>(stage_.axes.size()), tiles);
  }

  // `count` indices of the unrolled axis from `first` on, for some vectors of the row.
  Stmt tile(const Expr& first, int64_t count, const RowVectors& row) const {
    const Reduction& r = *stage_.reduction;
    Buffer acc = make_buffer("acc", r.identity[0].type(), {count, row.vectors, row.lanes}, Scope::reg);
    using Body = std::function<Stmt(const std::vector<Expr>& element, const std::vector<Expr>& index)>;
    auto all = [&](const Body& body) {
      Var u = make_var("u"), v = make_var("v"), lane = make_var("lane");
      const Expr x = row.begin(v) + Expr(lane);
      Stmt s = for_loop(lane, row.lanes, LoopKind::vector, body({u, v, lane}, index(first + Expr(u), x)));
      return for_loop(u, count, LoopKind::unrolled, for_loop(v, row.vectors, LoopKind::unrolled, s));
    };
    Stmt init = all([&](const auto& e, const auto&) { return store(acc, e, r.identity[0]); });
    auto add = [&](const auto& e, const auto& index) {
      return store(acc, e, combined(r, load(acc, e), at_index(stage_.values[0], stage_, index), machine_));
    };
    Stmt results = all([&](const auto& e, const auto& index) { return epilogue_.store_total(load(acc, e), index); });
    const Stmt sum = tile_.rows && count > 1
                         ? sums_by_row(first, count, row, add)
                         : reduced_loops(all(add), 0, stage_.reduction->axes.size(), count * row.vectors);
    Stmt sums = allocate(acc, sequence({init, sum, results}));
    if (!epilogue_.has_finish()) return sums;
    // Vectors overlap, but each element is finished once.
    Var u = make_var("u");
    auto finish = [&](const Expr& x) { return epilogue_.finish(index(first + Expr(u), row.left + x)); };
    return sequence({sums, for_loop(u, count, LoopKind::serial, vector_loop(Dim(row.width), "x", finish))});
  }

  // The loops over the reduced axes [begin, end). A short innermost loop is unrolled, unless it has strided loads: LLVM
  // would keep the vectors that neighbouring taps share, and spill.
  Stmt reduced_loops(Stmt body, size_t begin, size_t end, int64_t accumulators) const {
    const std::vector<Axis>& axes = stage_.reduction->axes;
    const auto loads = loads_of(stage_.values[0]);
    const bool is_strided =
        std::ranges::any_of(loads, [&](const Load& l) { return lane_stride(l, axis(plan_.row_axis).var) > 1; });
    for (size_t k = end; k-- > begin;) {
      const Dim& extent = axes[k].extent;
      const bool is_short = k + 1 == axes.size() && extent.is_constant() && !is_strided &&
                            extent.value() * accumulators <= machine_.max_unrolled_updates;
      if (const Expr condition = tap_condition(k)) body = if_then(condition, body);
      body = for_loop(axes[k].var, Expr(extent), is_short ? LoopKind::unrolled : LoopKind::serial, body);
    }
    return body;
  }

  // The sums of a tile whose indices of the unrolled axis share rows: for each row, the products of all indices and
  // taps that read it.
  template <class Add>
  Stmt sums_by_row(const Expr& first, int64_t count, const RowVectors& row, const Add& add) const {
    const Axis& taps = stage_.reduction->axes[tile_.rows->tap];
    const int64_t updates = count * row.vectors * taps.extent.value();
    std::vector<Stmt> all;
    for (const auto& readers : readers_of_rows(*tile_.rows, count, taps.extent.value())) {
      std::vector<Stmt> of_row;
      for (const auto& [u, tap] : readers) {
        Var v = make_var("v"), lane = make_var("lane");
        const std::vector<Expr> element = {u, v, lane};
        Stmt s = add(element, index(first + Expr(u), row.begin(v) + Expr(lane)));
        s = for_loop(lane, row.lanes, LoopKind::vector, substitute(s, {{taps.var, Expr(tap)}}));
        of_row.push_back(for_loop(v, row.vectors, LoopKind::unrolled, s));
      }
      all.push_back(
          reduced_loops(sequence(std::move(of_row)), tile_.rows->tap + 1, stage_.reduction->axes.size(), updates));
    }
    return reduced_loops(sequence(std::move(all)), 0, tile_.rows->tap, count * row.vectors);
  }

  // The condition under which a tap of the reduced axis reads the image for the pixels of a tile, which are in one row.
  // Null if there is little padding, or the axis is not one of taps.
  Expr tap_condition(size_t reduced_axis) const {
    for (const TapAxis& a : plan_.tap_axes) {
      const bool varies = a.pixel == plan_.row_axis || a.pixel == tile_.unrolled_axis;
      if (a.tap == reduced_axis && !varies && share_of_padding(a, stage_, 1) >= machine_.min_share_of_padding)
        return reads_data(a, stage_, Expr(axis(a.pixel).var), 1);
    }
    return {};
  }

  std::vector<Expr> index(const Expr& unrolled, const Expr& x) const {
    std::vector<Expr> result;
    for (int k = 0; k < static_cast<int>(stage_.axes.size()); ++k)
      result.push_back(k == plan_.row_axis ? x : k == tile_.unrolled_axis ? unrolled : Expr(axis(k).var));
    return result;
  }

  const TiledReductionPlan& plan_;
  const Machine& machine_;
  const Stage& stage_;
  Epilogue epilogue_;
  int64_t lanes_ = 1;
  TileShape tile_;
};

}  // namespace

std::optional<TiledReductionPlan> plan_tiled_reduction(const TensorFunction& f, size_t k,
                                                       const std::map<Buffer, Layout>& layouts,
                                                       const Machine& machine) {
  return TiledReductionPlanner(f, k, layouts, machine).run();
}

Stmt schedule_tiled_reduction(const TiledReductionPlan& plan, const Machine& machine) {
  return TiledReductionScheduler(plan, machine).run();
}

}  // namespace dlcc::tensor
