#include "tensor/schedules/window_reduction.h"

#include <algorithm>
#include <functional>

#include "tensor/analysis.h"
#include "tensor/layout.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

constexpr int64_t most_in_one_sum = 64;  // terms; longer sums are computed in parts
constexpr size_t most_pieces = 6;        // of a row, so that tiles at its ends may have code of their own

// `count` tiles of `size` points each, beginning at `begin`.
struct Piece {
  int64_t begin, size, count;
};

// Evenly split: 49 points in tiles of at most 14 are 13, 12, 12, 12. Tiles of equal size are one piece, but for those
// that `alone` names.
std::vector<Piece> split(int64_t points, int64_t most,
                         const std::function<bool(int64_t begin, int64_t size)>& alone = nullptr) {
  std::vector<Piece> pieces;
  int64_t tiles = ceil_div(points, most), begin = 0;
  bool last_alone = true;
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t size = points / tiles + (t < points % tiles);
    bool is_alone = alone && alone(begin, size);
    if (!is_alone && !last_alone && pieces.back().size == size)
      ++pieces.back().count;
    else
      pieces.push_back({begin, size, 1});
    last_alone = is_alone;
    begin += size;
  }
  return pieces;
}

class Scheduler {
 public:
  Scheduler(const WindowReductionPlan& plan, const WindowReductionArea& area, const std::map<Buffer, Layout>& layouts,
            const Machine& machine, int threads)
      : plan_(plan),
        machine_(machine),
        area_(area),
        layouts_(layouts),
        stage_(plan.reduced),
        epilogue_(plan.reduced, plan.epilogue ? &*plan.epilogue : nullptr) {
    lanes_ = std::min<int64_t>(machine.lanes(std::max(bits(stage_.reduction->identity[0].type()), 8)), channel_block);
    for (size_t k = 0; k < stage_.axes.size(); ++k)
      if (static_cast<int>(k) != plan.lane_axis) outer_.push_back(k);
    auto row = std::ranges::find_if(outer_.rbegin(), outer_.rend(), [&](size_t k) {
      return stage_.axes[k].extent != Dim(1) && static_cast<int>(k) != area.row_axis &&
             !std::ranges::count(area.fixed_axes, static_cast<int>(k));
    });
    if (row != outer_.rend()) {
      x_ = static_cast<int>(*row);
      outer_.erase(std::next(row).base());
    }
    choose_tile();
    blocks_ = shared_blocks(threads);
    choose_unrolling();
    choose_parts();
    choose_columns();
  }

  Stmt run() {
    int64_t whole = area_.lanes / channel_block, rest = area_.lanes % channel_block;
    std::vector<Stmt> parts;
    auto add = [&](const Expr& first, int64_t blocks, int64_t vectors, int64_t lanes) {
      parts.push_back(image({area_.first_lane + first, blocks, vectors, lanes}));
    };
    for (const Piece& p : split(whole, blocks_)) {
      Var b = make_var("block");
      add((Expr(p.begin) + Expr(b) * Expr(p.size)) * Expr(channel_block), p.size, channel_block / lanes_, lanes_);
      parts.back() = for_loop(b, p.count, LoopKind::parallel, parts.back());
    }
    int64_t vectors = plan_.whole_blocks ? ceil_div(rest, lanes_) : rest / lanes_;
    if (vectors > 0) add(whole * channel_block, 1, vectors, lanes_);
    if (rest > vectors * lanes_) add(whole * channel_block + vectors * lanes_, 1, 1, rest - vectors * lanes_);
    return sequence(std::move(parts));
  }

 private:
  // Where a tile stands along the lanes: `blocks` blocks side by side, `vectors` vectors of each in turn.
  struct Lanes {
    Expr base;
    int64_t blocks, vectors, lanes;
  };

  // A part of a sum: so many steps of this reduced axis, with all terms of those inside of it. Axis -1: one part.
  struct Parts {
    int axis = -1;
    int64_t steps = 0;
  };

  int64_t extent(int axis) const { return axis < 0 ? 1 : stage_.axes[static_cast<size_t>(axis)].extent.value(); }
  const std::vector<Axis>& terms() const { return stage_.reduction->axes; }

  // ---- decisions

  // As many accumulators as hide the latency of an addition. Beside them stand the elements that neighbouring results
  // share, and for each block what all its terms share.
  void choose_tile() {
    int64_t registers = machine_.vector_registers - (machine_.has_fma ? 4 : 5),
            accumulators = std::clamp<int64_t>(registers / 2, 1, machine_.accumulators_in_flight);
    points_ = std::min(extent(x_), accumulators);
    blocks_ = std::max<int64_t>(std::min(accumulators / points_, registers / (points_ + shared_by_terms())), 1);
    if (points_ > 3) blocks_ = 1;
  }

  // As many blocks side by side as the tile may have, or fewer, so that the longest of the threads' shares is shortest.
  int64_t shared_blocks(int threads) const {
    int64_t best = blocks_, shortest = area_.lanes;
    for (int64_t size = blocks_; size >= 1; --size) {
      int64_t longest = 0;
      for (const Piece& p : split(area_.lanes / channel_block, size)) longest += ceil_div(p.count, threads) * p.size;
      if (longest < shortest) best = size, shortest = longest;
    }
    return best;
  }

  int64_t shared_by_terms() const {
    auto loads = loads_of(stage_.values[0]);
    return std::ranges::count_if(loads, [&](const Load& l) {
      return std::ranges::none_of(terms(), [&](const Axis& term) { return uses(l, term.var); });
    });
  }

  // The innermost reduced axis is written out, so that neighbouring results share loads. The others are loops: their
  // weights are loaded inside, and not held in registers across tiles.
  void choose_unrolling() {
    unrolled_ = static_cast<int>(terms().size()) - 1;
    while (unrolled_ > 0 && terms()[static_cast<size_t>(unrolled_)].extent == Dim(1)) --unrolled_;
    if (unrolled_ >= 0 &&
        terms()[static_cast<size_t>(unrolled_)].extent.value() * points_ * blocks_ > machine_.max_unrolled_updates)
      unrolled_ = -1;
  }

  // A long sum of floats is computed in about as many parts as each has terms: so a total meets twice the root of the
  // number of roundings (blocked summation: Higham, "The Accuracy of Floating Point Summation", 1993, section 3).
  void choose_parts() {
    int64_t all = 1, inside = 1, root = 1;
    for (const Axis& a : terms()) all *= a.extent.value();
    const Reduction& r = *stage_.reduction;
    if (all <= most_in_one_sum || reducer_kind(r) != ReducerKind::sum || !is_float(r.identity[0].type())) return;
    while (root * root < all) ++root;
    size_t axis = terms().size() - 1;
    for (; inside * terms()[axis].extent.value() <= root; --axis) inside *= terms()[axis].extent.value();
    parts_ = {static_cast<int>(axis), root / inside};
    if (unrolled_ == parts_.axis) unrolled_ = -1;
  }

  // Where a tile reads outside along the row, its place is constant, so that the test of every term is decided when
  // code is generated.
  void choose_columns() {
    columns_ = split(extent(x_), points_, [&](int64_t begin, int64_t size) { return reads_outside(begin, size); });
    if (columns_.size() > most_pieces) columns_ = split(extent(x_), points_);
  }

  Ranges ranges() const {
    Ranges ranges = ranges_of(stage_);
    ranges.insert(area_.known.begin(), area_.known.end());
    return ranges;
  }

  // The index of a predicated load may lie where nothing is stored, when the axes are in these ranges.
  bool reads_outside(const Load& l, size_t d, const Ranges& ranges) const {
    if (!l.otherwise) return false;
    auto r = range_of(l.indices[d], ranges);
    int64_t size = l.buffer->shape[d].value();
    Layout layout = is_literal(l.otherwise, 0) ? layout_of(layouts_, l.buffer) : Layout{};
    return !r || !is_stored(layout, static_cast<int>(d), size, *r);
  }

  // At these points of a row something may be read outside.
  bool reads_outside(int64_t begin, int64_t size) const {
    if (x_ < 0) return false;
    const Var& x = stage_.axes[static_cast<size_t>(x_)].var;
    Ranges ranges = this->ranges();
    ranges[x] = {begin, begin + size - 1};
    auto outside = [&](const Load& l) {
      for (size_t d = 0; d < l.indices.size(); ++d)
        if (uses(l.indices[d], x) && reads_outside(l, d, ranges)) return true;
      return false;
    };
    auto loads = loads_of(stage_.values[0]);
    return std::ranges::any_of(loads, outside);
  }

  // ---- loops

  Stmt image(const Lanes& at) {
    Stmt body = row(at);
    for (size_t k = outer_.size(); k-- > 0;) {
      int axis = static_cast<int>(outer_[k]);
      if (axis == area_.row_axis)
        body = rows(body);
      else if (!std::ranges::count(area_.fixed_axes, axis))
        body = for_loop(stage_.axes[outer_[k]].var, extent(axis), LoopKind::parallel, body);
    }
    return body;
  }

  // The area's rows.
  Stmt rows(Stmt body) const {
    const Var& y = stage_.axes[static_cast<size_t>(area_.row_axis)].var;
    if (extent(area_.row_axis) % area_.rows) body = if_then(Expr(y) < Expr(extent(area_.row_axis)), body);
    return for_loop(area_.row, area_.rows, LoopKind::parallel, let(y, area_.first_row + Expr(area_.row), body));
  }

  Stmt row(const Lanes& at) {
    std::vector<Stmt> tiles;
    for (const Piece& p : columns_) {
      Var t = make_var("tile"), vector = make_var("vector");
      Stmt body = tile(at, Expr(p.begin) + Expr(t) * Expr(p.size), p.size, vector);
      body = for_loop(vector, at.vectors, LoopKind::serial, body);
      tiles.push_back(for_loop(t, p.count, LoopKind::serial, body));
    }
    if (epilogue_.has_finish()) tiles.push_back(finish(at));
    return sequence(std::move(tiles));
  }

  // The index of a result, in the order of the axes.
  std::vector<Expr> index(const Lanes& at, const Expr& point, const Expr& b, const Expr& vector,
                          const Expr& lane) const {
    std::vector<Expr> result;
    for (size_t k = 0; k < stage_.axes.size(); ++k) {
      int axis = static_cast<int>(k);
      if (axis == plan_.lane_axis)
        result.push_back(at.base + b * Expr(channel_block) + vector * Expr(lanes_) + lane);
      else if (axis == x_)
        result.push_back(point);
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
        return store(acc, element, folded(load(acc, element), at_index(value, stage_, at_result)));
      });
      return unrolled_ < 0 ? s : written_out(s);
    };
    auto drained = [&](const Buffer& sum) {
      return all([&](const auto& element, const auto& at_result) {
        return epilogue_.store_total(load(sum, element), at_result);
      });
    };
    if (parts_.axis < 0) return allocate(acc, sequence({init, serial_loops(guarded(add), nullptr), drained(acc)}));
    Buffer total = make_buffer("total", identity.type(), acc->shape, Scope::local, 64);
    Stmt clear = all([&](const auto& element, const auto&) { return store(total, element, identity); });
    Stmt add_part = all([&](const auto& element, const auto&) {
      return store(total, element, load(total, element) + load(acc, element));
    });
    Stmt sum = serial_loops(guarded(add), sequence({add_part, init}));
    return allocate(total, allocate(acc, sequence({clear, init, sum, drained(total)})));
  }

  // The loops over the reduced axes that are not written out. `behind` runs behind every part of the sum.
  Stmt serial_loops(Stmt body, const Stmt& behind) const {
    for (int r = static_cast<int>(terms().size()); r-- > 0;) {
      if (r == unrolled_) continue;
      body = r == parts_.axis ? in_parts(body, behind) : loop(r, LoopKind::serial, body);
    }
    return body;
  }

  Stmt in_parts(const Stmt& body, const Stmt& behind) const {
    const Axis& a = terms()[static_cast<size_t>(parts_.axis)];
    Var part = make_var("part"), step = make_var("step");
    auto one = [&](const Expr& begin, int64_t steps) {
      Stmt terms = for_loop(step, steps, LoopKind::serial, substitute(body, {{a.var, begin + Expr(step)}}));
      return sequence({terms, behind});
    };
    int64_t whole = a.extent.value() / parts_.steps, rest = a.extent.value() % parts_.steps;
    Stmt parts = for_loop(part, whole, LoopKind::serial, one(Expr(part) * Expr(parts_.steps), parts_.steps));
    return rest == 0 ? parts : sequence({parts, one(Expr(whole * parts_.steps), rest)});
  }

  // The terms of the unrolled axis. Those a stride apart read what neighbouring points read of the others; they follow
  // each other, so that less is kept in registers between them.
  Stmt written_out(const Stmt& body) const {
    const Axis& a = terms()[static_cast<size_t>(unrolled_)];
    int64_t period = reducer_kind(*stage_.reduction) == ReducerKind::sum ? terms_between_shared() : 1;
    std::vector<Stmt> parts;
    for (int64_t first = 0; first < std::min(period, a.extent.value()); ++first) {
      Var k = make_var(a.var->name);
      Stmt terms = substitute(body, {{a.var, Expr(first) + Expr(period) * Expr(k)}});
      parts.push_back(for_loop(k, ceil_div(a.extent.value() - first, period), LoopKind::unrolled, terms));
    }
    return sequence(std::move(parts));
  }

  // How many terms of the unrolled axis make up for one point of the row: its stride, without dilation.
  int64_t terms_between_shared() const {
    auto step = [](const Expr& index, const Var& v) {
      return constant_integer(simplify(substitute(index, {{v, Expr(v) + Expr(1)}}) - index)).value_or(0);
    };
    const Var& term = terms()[static_cast<size_t>(unrolled_)].var;
    for (const Load& l : loads_of(stage_.values[0]))
      for (const Expr& i : l.indices)
        if (x_ >= 0 && uses(i, term) && uses(i, stage_.axes[static_cast<size_t>(x_)].var)) {
          int64_t of_point = step(i, stage_.axes[static_cast<size_t>(x_)].var), of_term = step(i, term);
          if (of_point > 0 && of_term > 0 && of_point % of_term == 0) return of_point / of_term;
        }
    return 1;
  }

  Stmt loop(int reduced, LoopKind kind, const Stmt& body) const {
    const Axis& a = terms()[static_cast<size_t>(reduced)];
    return for_loop(a.var, a.extent.value(), kind, body);
  }

  // The terms of one turn of the loops that are not unrolled. An index that is the same for all of them is tested once:
  // mostly the row of the operand.
  Stmt guarded(const std::function<Stmt(const Expr& value)>& add) const {
    const Expr& value = stage_.values[0];
    auto guard = find_guard();
    if (!guard) return add(value);
    const auto& [index, extent] = *guard;
    Var row = make_var("at");
    auto is_guarded = [&](const Load& l, size_t d) {
      return l.otherwise && structurally_equal(l.indices[d], index) && l.buffer->shape[d] == Dim(extent);
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

  // An index that may lie outside and depends on neither the point of the row nor the unrolled term, and its bound.
  std::optional<std::pair<Expr, int64_t>> find_guard() const {
    Ranges ranges = this->ranges();
    auto varies = [&](const Expr& e) {
      return uses(e, stage_.axes[static_cast<size_t>(plan_.lane_axis)].var) ||
             (x_ >= 0 && uses(e, stage_.axes[static_cast<size_t>(x_)].var)) ||
             (unrolled_ >= 0 && uses(e, terms()[static_cast<size_t>(unrolled_)].var));
    };
    for (const Load& l : loads_of(stage_.values[0]))
      for (size_t d = 0; d < l.indices.size(); ++d)
        if (reads_outside(l, d, ranges) && !varies(l.indices[d]))
          return std::pair(l.indices[d], l.buffer->shape[d].value());
    return std::nullopt;
  }

  // The second part of the epilogue, along the row that has been stored.
  Stmt finish(const Lanes& at) {
    Var b = make_var("b"), x = make_var("x"), vector = make_var("vector"), lane = make_var("lane");
    Stmt s = epilogue_.finish(index(at, x, b, vector, lane));
    s = for_loop(lane, at.lanes, LoopKind::vector, s);
    s = for_loop(vector, at.vectors, LoopKind::serial, s);
    s = for_loop(x, extent(x_), LoopKind::serial, s);
    return for_loop(b, at.blocks, LoopKind::serial, s);
  }

  Expr folded(const Expr& total, const Expr& value) const {
    const Reduction& r = *stage_.reduction;
    if (reducer_kind(r) == ReducerKind::sum) return multiply_add(value, total, machine_);
    return substitute(r.combined[0], {{r.left[0], total}, {r.right[0], value}});
  }

  const WindowReductionPlan& plan_;
  const Machine& machine_;
  const WindowReductionArea area_;
  const std::map<Buffer, Layout>& layouts_;
  const Stage& stage_;
  Epilogue epilogue_;
  int64_t lanes_ = 1;
  int x_ = -1;                       // the axis of the points of a row, or -1
  std::vector<size_t> outer_;        // the other axes that are not along the lanes
  int64_t points_ = 1, blocks_ = 1;  // of a tile, at most
  int unrolled_ = -1;                // the reduced axis that is written out
  Parts parts_;
  std::vector<Piece> columns_;  // tiles of a row
};

}  // namespace

Stmt schedule_window_reduction(const WindowReductionPlan& plan, const std::map<Buffer, Layout>& layouts,
                               const Machine& machine, int threads) {
  int64_t lanes = plan.reduced.axes[static_cast<size_t>(plan.lane_axis)].extent.value();
  return Scheduler(plan, {.first_lane = 0, .lanes = lanes}, layouts, machine, threads).run();
}

Stmt schedule_area(const WindowReductionPlan& plan, const WindowReductionArea& area,
                   const std::map<Buffer, Layout>& layouts, const Machine& machine) {
  return Scheduler(plan, area, layouts, machine, 1).run();
}

}  // namespace dlcc::tensor
