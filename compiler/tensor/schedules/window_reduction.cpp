#include "tensor/schedules/window_reduction.h"

#include <algorithm>
#include <functional>

#include "tensor/analysis.h"
#include "tensor/layout.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_reduction.h"
#include "tensor/schedules/window_reduction_tiling.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class WindowReductionScheduler {
 public:
  WindowReductionScheduler(const WindowReductionPlan& plan, const WindowReductionArea& area,
                           const std::map<Buffer, Layout>& layouts, const Machine& machine, int threads)
      : plan_(plan),
        machine_(machine),
        area_(area),
        layouts_(layouts),
        stage_(plan.reduced),
        epilogue_(plan.reduced, plan.epilogue ? &*plan.epilogue : nullptr),
        tiling_(choose_window_tiling(plan, area, layouts, machine, threads)) {}

  Stmt run() {
    int64_t whole = area_.lanes / channel_block, rest = area_.lanes % channel_block, lanes = tiling_.lanes;
    std::vector<Stmt> all;
    auto add = [&](const Expr& first, int64_t blocks, int64_t vectors, int64_t lanes) {
      all.push_back(image({area_.first_lane + first, blocks, vectors, lanes}));
    };
    for (const EqualTiles& t : split_evenly(whole, tiling_.blocks)) {
      Var b = make_var("block");
      add((Expr(t.begin) + Expr(b) * Expr(t.size)) * Expr(channel_block), t.size, channel_block / lanes, lanes);
      all.back() = for_loop(b, t.count, LoopKind::parallel, all.back());
    }
    int64_t vectors = plan_.whole_blocks ? ceil_div(rest, lanes) : rest / lanes;
    if (vectors > 0) add(whole * channel_block, 1, vectors, lanes);
    if (rest > vectors * lanes) add(whole * channel_block + vectors * lanes, 1, 1, rest - vectors * lanes);
    return sequence(std::move(all));
  }

 private:
  // The channels of a tile, which begin at `base`: `blocks` channel blocks that are computed together, and in each a
  // loop over `vectors` vectors of `lanes` channels.
  struct Lanes {
    Expr base;
    int64_t blocks, vectors, lanes;
  };

  Expr size(int axis) const { return axis < 0 ? Expr(1) : Expr(stage_.axes[static_cast<size_t>(axis)].extent); }
  const Axis& reduced(int k) const { return stage_.reduction->axes[static_cast<size_t>(k)]; }

  // ---- loops over results

  Stmt image(const Lanes& at) {
    Stmt body = row(at);
    for (size_t k = tiling_.outer_axes.size(); k-- > 0;) {
      int axis = static_cast<int>(tiling_.outer_axes[k]);
      if (axis == area_.row_axis)
        body = rows(body);
      else if (!std::ranges::count(area_.free_axes, axis))
        body = for_loop(stage_.axes[tiling_.outer_axes[k]].var, size(axis), LoopKind::parallel, body);
    }
    return body;
  }

  // The area's rows.
  Stmt rows(Stmt body) const {
    const Var& y = stage_.axes[static_cast<size_t>(area_.row_axis)].var;
    const Dim& height = stage_.axes[static_cast<size_t>(area_.row_axis)].extent;
    if (floor_mod(height, area_.rows) != Dim(0)) body = if_then(Expr(y) < Expr(height), body);
    return for_loop(area_.row, area_.rows, LoopKind::parallel, let(y, area_.first_row + Expr(area_.row), body));
  }

  Stmt row(const Lanes& at) {
    std::vector<Stmt> tiles;
    auto vectors = [&](const Expr& left, int64_t wide) {
      Var vector = make_var("vector");
      return for_loop(vector, at.vectors, LoopKind::serial, tile(at, left, wide, vector));
    };
    for (const EqualTiles& e : tiling_.row_tiles) {
      Var t = make_var("tile");
      tiles.push_back(for_loop(t, e.count, LoopKind::serial, vectors(Expr(e.begin) + Expr(t) * Expr(e.size), e.size)));
    }
    if (tiling_.row_tiles.empty()) tiles.push_back(in_tiles(size(tiling_.x_axis), tiling_.results, vectors));
    if (epilogue_.has_finish()) tiles.push_back(finish(at));
    return sequence(std::move(tiles));
  }

  // The index of a result, in the order of the axes.
  std::vector<Expr> index(const Lanes& at, const Expr& x, const Expr& b, const Expr& vector, const Expr& lane) const {
    std::vector<Expr> result;
    for (size_t k = 0; k < stage_.axes.size(); ++k) {
      int axis = static_cast<int>(k);
      if (axis == plan_.lane_axis)
        result.push_back(at.base + b * Expr(channel_block) + vector * Expr(tiling_.lanes) + lane);
      else if (axis == tiling_.x_axis)
        result.push_back(x);
      else
        result.push_back(stage_.axes[k].var);
    }
    return result;
  }

  Stmt tile(const Lanes& at, const Expr& left, int64_t wide, const Var& vector) {
    const Expr& identity = stage_.reduction->identity[0];
    Buffer acc = make_buffer("acc", identity.type(), {at.blocks, wide, at.lanes}, Scope::reg);
    auto all = [&](const std::function<Stmt(const std::vector<Expr>& element, const std::vector<Expr>& index)>& body) {
      Var b = make_var("b"), x = make_var("x"), lane = make_var("lane");
      Stmt s = body({b, x, lane}, index(at, left + Expr(x), b, vector, lane));
      s = for_loop(lane, at.lanes, LoopKind::vector, s);
      s = for_loop(x, wide, LoopKind::unrolled, s);
      return for_loop(b, at.blocks, LoopKind::unrolled, s);
    };
    Stmt init = all([&](const auto& element, const auto&) { return store(acc, element, identity); });
    auto add = [&](const Expr& value) {
      Stmt s = all([&](const auto& element, const auto& at_result) {
        return store(acc, element,
                     combined(*stage_.reduction, load(acc, element), at_index(value, stage_, at_result), machine_));
      });
      return tiling_.unrolled_axis < 0 ? s : unrolled(s);
    };
    auto store_results = [&](const Buffer& sum) {
      return all([&](const auto& element, const auto& at_result) {
        return epilogue_.store_total(load(sum, element), at_result);
      });
    };
    if (tiling_.partial_axis < 0)
      return allocate(acc, sequence({init, outer_taps(guarded(add), nullptr), store_results(acc)}));
    Buffer total = make_buffer("total", identity.type(), acc->shape, Scope::local, storage_alignment);
    Stmt clear = all([&](const auto& element, const auto&) { return store(total, element, identity); });
    Stmt add_partial = all([&](const auto& element, const auto&) {
      return store(total, element, load(total, element) + load(acc, element));
    });
    Stmt sum = outer_taps(guarded(add), sequence({add_partial, init}));
    return allocate(total, allocate(acc, sequence({clear, init, sum, store_results(total)})));
  }

  // ---- loops over the reduced axes

  // The loops around the taps of the unrolled axis; `after_partial` follows each partial sum.
  Stmt outer_taps(Stmt body, const Stmt& after_partial) const {
    const LoopKind kind = tiling_.unrolls_all_axes ? LoopKind::unrolled : LoopKind::serial;
    for (int r = static_cast<int>(stage_.reduction->axes.size()); r-- > 0;) {
      if (r == tiling_.unrolled_axis) continue;
      body = r == tiling_.partial_axis ? partial_sums(body, after_partial)
                                       : for_loop(reduced(r).var, reduced(r).extent.value(), kind, body);
    }
    return body;
  }

  Stmt partial_sums(const Stmt& body, const Stmt& after_partial) const {
    const Axis& a = reduced(tiling_.partial_axis);
    Var partial_sum = make_var("partial_sum"), k = make_var(a.var->name);
    auto one = [&](const Expr& begin, int64_t count) {
      Stmt sum = for_loop(k, count, LoopKind::serial, substitute(body, {{a.var, begin + Expr(k)}}));
      return sequence({sum, after_partial});
    };
    int64_t size = tiling_.partial_extent, whole = a.extent.value() / size, rest = a.extent.value() % size;
    Stmt all = for_loop(partial_sum, whole, LoopKind::serial, one(Expr(partial_sum) * Expr(size), size));
    return rest == 0 ? all : sequence({all, one(Expr(whole * size), rest)});
  }

  // The taps of the unrolled axis. The taps k and k + stride of neighbouring results load the same elements. So taps a
  // stride apart follow each other: few elements then stay in registers.
  Stmt unrolled(const Stmt& body) const {
    const Axis& a = reduced(tiling_.unrolled_axis);
    int64_t period = reducer_kind(*stage_.reduction) == ReducerKind::sum ? taps_per_result() : 1;
    std::vector<Stmt> all;
    for (int64_t first = 0; first < std::min(period, a.extent.value()); ++first) {
      Var k = make_var(a.var->name);
      Stmt taps = substitute(body, {{a.var, Expr(first) + Expr(period) * Expr(k)}});
      all.push_back(for_loop(k, ceil_div(a.extent.value() - first, period), LoopKind::unrolled, taps));
    }
    return sequence(std::move(all));
  }

  // The number of taps of the unrolled axis that move a load as far as one result along the row does: stride / dilation
  // if that is an integer, else 1.
  int64_t taps_per_result() const {
    if (tiling_.x_axis < 0) return 1;
    const Var &tap = reduced(tiling_.unrolled_axis).var, &x = stage_.axes[static_cast<size_t>(tiling_.x_axis)].var;
    for (const Load& l : loads_of(stage_.values[0]))
      for (const Expr& i : l.indices)
        if (uses(i, tap) && uses(i, x)) {
          const int64_t stride = stride_along(i, x).value_or(0), dilation = stride_along(i, tap).value_or(0);
          if (stride > 0 && dilation > 0 && stride % dilation == 0) return stride / dilation;
        }
    return 1;
  }

  // The body of the serial loops: add(value). An index that is the same for the whole tile and all unrolled taps,
  // mostly that of the operand's row, is tested once.
  Stmt guarded(const std::function<Stmt(const Expr& value)>& add) const {
    const Expr& value = stage_.values[0];
    auto guard = find_guard();
    if (!guard) return add(value);
    const auto& [index, extent] = *guard;
    Var row = make_var("at");
    auto is_guarded = [&](const Load& l, size_t d) {
      return l.otherwise && structurally_equal(l.indices[d], index) && l.buffer->shape[d] == extent;
    };
    Expr inside = rewrite(value, [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l) return e;
      std::vector<Expr> indices = l->indices;
      for (size_t d = 0; d < indices.size(); ++d)
        if (is_guarded(*l, d)) indices[d] = row;
      return load(l->buffer, std::move(indices), l->otherwise);
    });
    Expr outside = rewrite(value, [&](const Expr& e) {
      const Load* l = as<Load>(e);
      for (size_t d = 0; l && d < l->indices.size(); ++d)
        if (is_guarded(*l, d)) return l->otherwise;
      return e;
    });
    Expr condition = logical_and(Expr(row) >= Expr(0), Expr(row) < Expr(extent));
    return let(row, index, if_then(condition, add(inside), add(outside)));
  }

  // An index that may be outside its dimension and depends on neither the tile nor the unrolled taps, and its extent.
  std::optional<std::pair<Expr, Dim>> find_guard() const {
    Ranges ranges = ranges_in(plan_, area_);
    auto varies = [&](const Expr& e) {
      return uses(e, stage_.axes[static_cast<size_t>(plan_.lane_axis)].var) ||
             (tiling_.x_axis >= 0 && uses(e, stage_.axes[static_cast<size_t>(tiling_.x_axis)].var)) ||
             (tiling_.unrolled_axis >= 0 && uses(e, reduced(tiling_.unrolled_axis).var));
    };
    for (const Load& l : loads_of(stage_.values[0]))
      for (size_t d = 0; d < l.indices.size(); ++d)
        if (reads_outside(l, d, stage_, ranges, layouts_) && !varies(l.indices[d]))
          return std::pair(l.indices[d], l.buffer->shape[d]);
    return std::nullopt;
  }

  // The second part of a split epilogue, over the stored row.
  Stmt finish(const Lanes& at) {
    Var b = make_var("b"), x = make_var("x"), vector = make_var("vector"), lane = make_var("lane");
    Stmt s = epilogue_.finish(index(at, x, b, vector, lane));
    s = for_loop(lane, at.lanes, LoopKind::vector, s);
    s = for_loop(vector, at.vectors, LoopKind::serial, s);
    s = for_loop(x, size(tiling_.x_axis), LoopKind::serial, s);
    return for_loop(b, at.blocks, LoopKind::serial, s);
  }

  const WindowReductionPlan& plan_;
  const Machine& machine_;
  const WindowReductionArea area_;
  const std::map<Buffer, Layout>& layouts_;
  const Stage& stage_;
  Epilogue epilogue_;
  WindowTiling tiling_;
};

}  // namespace

Stmt schedule_window_reduction(const WindowReductionPlan& plan, const std::map<Buffer, Layout>& layouts,
                               const Machine& machine, int threads) {
  int64_t lanes = plan.reduced.axes[static_cast<size_t>(plan.lane_axis)].extent.value();
  return WindowReductionScheduler(plan, {.first_lane = 0, .lanes = lanes}, layouts, machine, threads).run();
}

Stmt schedule_area(const WindowReductionPlan& plan, const WindowReductionArea& area,
                   const std::map<Buffer, Layout>& layouts, const Machine& machine) {
  return WindowReductionScheduler(plan, area, layouts, machine, 1).run();
}

}  // namespace dlcc::tensor
