#include "tensor/schedules/generic.h"

#include <algorithm>

#include "tensor/schedules/loops.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class StageScheduler {
 public:
  StageScheduler(const Stage& stage, const std::map<Buffer, Layout>& layouts, const Machine& machine)
      : stage_(stage), machine_(machine) {
    for (const Axis& a : stage.axes) shape_.push_back(a.extent.value());
    loops_ = storage_loops(layout_of_box(layout_of(layouts, stage.results[0])), shape_);
    if (stage.reduction)
      for (const Axis& a : stage.reduction->axes) reduced_.push_back(a.extent.value());
  }

  Stmt run() {
    if (std::ranges::count(shape_, 0)) return nullptr;
    std::vector<Stmt> parts;
    for (const Requirement& r : stage_.requirements) parts.push_back(check(r));
    if (!stage_.reduction)
      parts.push_back(elementwise());
    else if (prefers_row_reduction())
      parts.push_back(row_reduction());
    else
      parts.push_back(reduction());
    return sequence(std::move(parts));
  }

 private:
  // The layout of the box that the stage fills in the result's storage; dense when the box begins or ends inside of a
  // block with other elements.
  Layout layout_of_box(Layout layout) const {
    if (stage_.origin.empty()) return layout;
    for (Layout::Part& part : layout.parts) {
      auto axis = static_cast<size_t>(part.axis);
      int64_t begin = stage_.origin[axis].value(), end = begin + shape_[axis];
      int64_t block = part.divisor;
      if (block == 1 && std::ranges::count(layout.parts, part.axis, &Layout::Part::axis) > 1) continue;
      if (begin % block || (end % block && Dim(end) != stage_.results[0]->shape[axis])) return {};
      part.halo = 0;
      part.extent = ceil_div(shape_[axis], block);
    }
    return layout;
  }

  // Loops only over the axes that the condition depends on.
  Stmt check(const Requirement& r) {
    Stmt body = require(r.condition, r.status);
    for (size_t k = stage_.axes.size(); k-- > 0;)
      if (uses(r.condition, stage_.axes[k].var)) body = for_loop(stage_.axes[k].var, shape_[k], LoopKind::serial, body);
    return body;
  }

  std::vector<Expr> result_index(const std::vector<Expr>& index) const {
    std::vector<Expr> at = index;
    for (size_t k = 0; k < stage_.origin.size(); ++k) at[k] = at[k] + Expr(stage_.origin[k]);
    return at;
  }

  // The vector loop: the innermost one of more than one iteration.
  size_t vector_loop() const {
    for (size_t k = loops_.extents.size(); k-- > 0;)
      if (loops_.extents[k] > 1) return k;
    return loops_.extents.empty() ? 0 : loops_.extents.size() - 1;
  }

  Stmt elementwise() {
    std::vector<Stmt> stores;
    for (size_t k = 0; k < stage_.results.size(); ++k)
      stores.push_back(
          store(stage_.results[k], result_index(loops_.index), at_index(stage_.values[k], stage_, loops_.index)));
    Stmt body = sequence(std::move(stores));
    if (loops_.extents.empty()) return body;
    size_t v = vector_loop();
    body = loops_.wrap(body, v + 1, loops_.extents.size());
    if (std::ranges::all_of(loops_.extents.begin(), loops_.extents.begin() + static_cast<std::ptrdiff_t>(v),
                            [](int64_t extent) { return extent == 1; }))
      return loops_.wrap(in_chunks(body, v), 0, v);
    return loops_.wrap(body, 0, v + 1, LoopKind::vector);
  }

  // A loop without outer loops, as a parallel loop over large chunks of vector loops, so that threads may share it.
  Stmt in_chunks(const Stmt& body, size_t loop) const {
    const int64_t chunk = machine_.elementwise_chunk;
    const Var& var = loops_.vars[loop];
    int64_t extent = loops_.extents[loop], whole = extent < 4 * chunk ? 0 : extent / chunk;
    auto part = [&](const Expr& begin, int64_t count) {
      Var i = make_var(var->name);
      return for_loop(i, count, LoopKind::vector, substitute(body, {{var, begin + Expr(i)}}));
    };
    Var p = make_var("piece");
    Stmt chunks = whole ? for_loop(p, whole, LoopKind::parallel, part(Expr(p) * Expr(chunk), chunk)) : nullptr;
    int64_t rest = extent - whole * chunk;
    return sequence({chunks, rest > 0 ? part(Expr(whole * chunk), rest) : nullptr});
  }

  // ---- reductions: lanes are neighbouring results

  // One vector of results: accumulators in registers, one per lane.
  Stmt vector_of_results(const Expr& base, int64_t lanes) {
    size_t v = vector_loop();
    std::vector<Buffer> sums;
    for (const Expr& id : stage_.reduction->identity)
      sums.push_back(make_buffer("acc", id.type(), {lanes}, Scope::reg));
    Stmt init = lane_loop(lanes, [&](const Expr& lane) {
      std::vector<Stmt> stores;
      for (size_t k = 0; k < sums.size(); ++k) stores.push_back(store(sums[k], {lane}, stage_.reduction->identity[k]));
      return sequence(std::move(stores));
    });
    auto index_of = [&](const Expr& lane) {
      std::vector<Expr> index;
      for (const Expr& i : loops_.index)
        index.push_back(loops_.vars.empty() ? i : substitute(i, {{loops_.vars[v], base + lane}}));
      return index;
    };
    Stmt accumulate = lane_loop(lanes, [&](const Expr& lane) { return combine(sums, lane, index_of(lane), {}); });
    for (size_t r = reduced_.size(); r-- > 0;)
      accumulate = for_loop(stage_.reduction->axes[r].var, reduced_[r], LoopKind::serial, accumulate);
    Stmt store_results = lane_loop(lanes, [&](const Expr& lane) {
      std::vector<Stmt> stores;
      for (size_t k = 0; k < sums.size(); ++k)
        stores.push_back(store(stage_.results[k], result_index(index_of(lane)), load(sums[k], {lane})));
      return sequence(std::move(stores));
    });
    Stmt body = sequence({init, accumulate, store_results});
    for (size_t k = sums.size(); k-- > 0;) body = allocate(sums[k], body);
    return body;
  }

  static Stmt lane_loop(int64_t lanes, const std::function<Stmt(const Expr&)>& body) {
    Var lane = make_var("lane");
    return for_loop(lane, lanes, LoopKind::vector, body(lane));
  }

  // sums[lane] = combined(sums[lane], value at `index`), all results at once.
  Stmt combine(const std::vector<Buffer>& sums, const Expr& lane, const std::vector<Expr>& index,
               const Substitution& reduced) {
    const Reduction& r = *stage_.reduction;
    std::vector<Expr> values;
    for (const Expr& v : stage_.values) values.push_back(substitute(at_index(v, stage_, index), reduced));
    if (reducer_kind(r) == ReducerKind::sum)
      return store(sums[0], {lane}, multiply_add(values[0], load(sums[0], {lane}), machine_));
    Substitution map;
    for (size_t k = 0; k < sums.size(); ++k) {
      map[r.left[k]] = load(sums[k], {lane});
      map[r.right[k]] = values[k];
    }
    if (sums.size() == 1) return store(sums[0], {lane}, substitute(r.combined[0], map));
    std::vector<Var> next;  // all components are computed before any is stored
    std::vector<Stmt> stores;
    for (size_t k = 0; k < sums.size(); ++k) {
      next.push_back(make_var("next", sums[k]->type));
      stores.push_back(store(sums[k], {lane}, next.back()));
    }
    Stmt body = sequence(std::move(stores));
    for (size_t k = sums.size(); k-- > 0;) body = let(next[k], substitute(r.combined[k], map), body);
    return body;
  }

  Stmt reduction() {
    if (loops_.extents.empty()) return vector_of_results(Expr(0), 1);
    size_t v = vector_loop();
    int64_t extent = loops_.extents[v], width = std::min<int64_t>(extent, lanes());
    std::vector<Stmt> vectors;
    Var v_index = make_var("vector");
    vectors.push_back(
        for_loop(v_index, extent / width, LoopKind::parallel, vector_of_results(Expr(v_index) * Expr(width), width)));
    if (extent % width) vectors.push_back(vector_of_results(Expr(extent / width * width), extent % width));
    Stmt body = sequence(std::move(vectors));
    body = loops_.wrap(body, v + 1, loops_.extents.size());
    return loops_.wrap(body, 0, v);
  }

  // ---- reductions: lanes are neighbouring indices of the last reduced axis

  int64_t lanes() const {
    int widest = 8;
    for (const Expr& v : stage_.values) widest = std::max(widest, bits(v.type()));
    return std::max(1, machine_.lanes(widest));
  }

  // The operands are contiguous along the last reduced axis, and not along the results.
  bool prefers_row_reduction() const {
    ReducerKind kind = reducer_kind(*stage_.reduction);
    if (kind == ReducerKind::other || reduced_.empty() || reduced_.back() < lanes()) return false;
    const Var& last_axis = stage_.reduction->axes.back().var;
    bool along_reduced = false;
    for (const Load& l : loads_of(stage_.values[0])) {
      if (l.indices.empty()) continue;
      bool last = uses(l.indices.back(), last_axis);
      for (size_t k = 0; k + 1 < l.indices.size(); ++k)
        if (uses(l.indices[k], last_axis)) return false;
      for (const Axis& a : stage_.axes)
        if (uses(l.indices.back(), a.var) && a.extent.value() > 1) return false;
      along_reduced |= last;
    }
    return along_reduced;
  }

  Stmt row_reduction() {
    const Reduction& r = *stage_.reduction;
    int64_t width = lanes(), extent = reduced_.back();
    Buffer partial = make_buffer("partial", r.identity[0].type(), {width}, Scope::reg);
    Stmt init = lane_loop(width, [&](const Expr& lane) { return store(partial, {lane}, r.identity[0]); });
    const Var& last_axis = r.axes.back().var;
    auto values_from = [&](const Expr& base, int64_t count) {
      return lane_loop(count, [&](const Expr& lane) {
        return combine({partial}, lane, loops_.index, {{last_axis, base + lane}});
      });
    };
    Var block = make_var("block");
    Stmt accumulate = for_loop(block, extent / width, LoopKind::serial, values_from(Expr(block) * Expr(width), width));
    if (extent % width) accumulate = sequence({accumulate, values_from(Expr(extent / width * width), extent % width)});
    for (size_t k = reduced_.size() - 1; k-- > 0;)
      accumulate = for_loop(r.axes[k].var, reduced_[k], LoopKind::serial, accumulate);
    // Halves are combined onto each other; the width is a power of two.
    std::vector<Stmt> all = {init, accumulate};
    for (int64_t half = width / 2; half > 0; half /= 2)
      all.push_back(lane_loop(half, [&](const Expr& lane) {
        Substitution map = {{r.left[0], load(partial, {lane})}, {r.right[0], load(partial, {lane + Expr(half)})}};
        return store(partial, {lane}, substitute(r.combined[0], map));
      }));
    all.push_back(store(stage_.results[0], result_index(loops_.index), load(partial, {Expr(0)})));
    return loops_.wrap(allocate(partial, sequence(std::move(all))), 0, loops_.extents.size());
  }

  const Stage& stage_;
  const Machine& machine_;
  std::vector<int64_t> shape_, reduced_;
  StorageLoops loops_;
};

}  // namespace

Stmt schedule_stage(const Stage& stage, const std::map<Buffer, Layout>& layouts, const Machine& machine) {
  return StageScheduler(stage, layouts, machine).run();
}

}  // namespace dlcc::tensor
