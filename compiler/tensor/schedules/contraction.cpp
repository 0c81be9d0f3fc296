#include "tensor/schedules/contraction.h"

#include <algorithm>
#include <functional>

#include "tensor/layout.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Scheduler {
 public:
  Scheduler(const ContractionPlan& plan, const Machine& machine)
      : plan_(plan),
        machine_(machine),
        stage_(plan.function.stages[0]),
        epilogue_(stage_, plan.contraction.epilogue < 0 ? nullptr : &plan.function.stages.back()),
        column_(axis(plan.column_axis).var) {
    const Binary& product = *as<Binary>(stage_.values[0]);
    bool data_first =
        loads_of(product.a)[0].buffer == plan.contraction.data.buffer &&
        std::ranges::equal(loads_of(product.a)[0].indices, plan.contraction.data.indices, structurally_equal);
    data_factor_ = data_first ? product.a : product.b;
    weights_factor_ = data_first ? product.b : product.a;
    lanes_ = std::min<int64_t>(machine.lanes(bits(product.a.type())), column_block);
    tile_ = choose_register_tile(machine, lanes_, plan.panel);
    row_tiles_ = cut_rows();
  }

  Stmt run() {
    std::vector<Stmt> parts;
    if (plan_.padded_data) parts.push_back(pad());
    if (plan_.packs_at_run_time) parts.push_back(pack());
    parts.push_back(products());
    return sequence(std::move(parts));
  }

 private:
  const Axis& axis(int k) const { return stage_.axes[static_cast<size_t>(k)]; }
  int64_t extent(int k) const { return axis(k).extent.value(); }

  // ---- copies
  // -------------------------------------------------------------------------------------------------------------

  Stmt pad() {
    StorageLoops loops = storage_loops(plan_.data_layout, static_shape(plan_.padded_data->shape));
    Stmt copy = store(plan_.padded_data, loops.index, load(plan_.contraction.data.buffer, loops.index));
    return sequence(
        {zero_border(plan_.padded_data, plan_.data_layout), loops.wrap(copy, 0, loops.vars.size(), LoopKind::vector)});
  }

  Stmt pack() {
    const Buffer& from = plan_.contraction.weights.buffer;
    StorageLoops loops = storage_loops(plan_.weights_layout, static_shape(from->shape));
    std::vector<Expr> at(loops.vars.begin(), loops.vars.end());
    Expr value = load(from, loops.index, literal(from->type, int64_t{0}));
    return loops.wrap(store(plan_.panels, at, value), 0, loops.vars.size(), LoopKind::vector);
  }

  // ---- loops over tiles
  // -----------------------------------------------------------------------------------------------------

  // Where a tile stands: values of the outer axes, first row of the two tiled axes, first column.
  struct Position {
    Expr panel_base;  // first column of the panel
    int64_t offset;   // of the tile's first column in the panel
    int64_t vectors;
    int64_t columns_left;  // columns of the tile that exist; at most vectors * lanes
  };

  // Panel after panel, each over all rows: the rows are read once for every panel. When they do not stay in the cache
  // but all panels do, block after block of rows, each over all panels.
  Stmt products() {
    auto all_rows = [&](const Position& at) { return other_rows(groups(at, {Expr(0), row_tiles_.whole(), true})); };
    Stmt body;
    if (int64_t size = groups_per_block()) {
      Var block = make_var("block");
      int64_t whole = row_tiles_.whole(), left = whole % size;
      body = for_loop(block, whole / size, LoopKind::parallel,
                      panels([&](const Position& at) { return groups(at, {Expr(block) * Expr(size), size, false}); }));
      if (left > 0 || row_tiles_.rest() > 0)
        body =
            sequence({body, panels([&](const Position& at) { return groups(at, {Expr(whole - left), left, true}); })});
      body = other_rows(body);
    } else {
      body = panels(all_rows);
    }
    for (size_t k = plan_.outer_axes.size(); k-- > 0;) {
      const Axis& a = axis(plan_.outer_axes[k]);
      body = for_loop(a.var, a.extent.value(), LoopKind::parallel, body);
    }
    return body;
  }

  // Groups of tiles in a block of rows, or 0 when blocks do not pay.
  int64_t groups_per_block() const {
    constexpr int64_t tiles_per_block = 16;
    int64_t columns = extent(plan_.column_axis);
    auto bytes = [](const Buffer& b) { return product_of(b) * bits(b->type) / 8; };
    int64_t groups = std::max<int64_t>(tiles_per_block / row_tiles_.tiles_in_group(), 1);
    for (int64_t even = groups; even <= 2 * groups; ++even)  // no smaller block at the end, if that is possible
      if (row_tiles_.whole() % even == 0) {
        groups = even;
        break;
      }
    bool pays = columns > plan_.panel && groups < row_tiles_.whole() &&
                bytes(plan_.contraction.data.buffer) > machine_.l2_bytes / 2 &&
                bytes(plan_.contraction.weights.buffer) <= machine_.l2_bytes / 2;
    return pays ? groups : 0;
  }
  static int64_t product_of(const Buffer& b) { return dlcc::product(b->shape).value(); }

  Stmt panels(const std::function<Stmt(const Position&)>& body) {
    int64_t columns = extent(plan_.column_axis), panel = plan_.panel;
    // Storage in blocks has room for whole blocks; dense storage ends with the last column.
    int64_t stored = plan_.blocked_result ? round_up(columns, column_block) : columns;
    int64_t whole = stored / panel;
    Var p = make_var("panel");
    Stmt all = for_loop(p, whole, LoopKind::parallel, one_panel(Expr(p) * Expr(panel), panel, body));
    return stored % panel ? sequence({all, one_panel(Expr(whole * panel), stored % panel, body)}) : all;
  }

  Stmt one_panel(const Expr& base, int64_t columns, const std::function<Stmt(const Position&)>& body) {
    std::vector<Stmt> tiles;
    int64_t width = tile_.vectors * lanes_;
    for (int64_t offset = 0; offset < columns; offset += width) {
      int64_t left = std::min(columns - offset, width);
      tiles.push_back(body({base, offset, ceil_div(left, lanes_), left}));
    }
    return sequence(std::move(tiles));
  }

  // ---- loops over rows
  // -----------------------------------------------------------------------------------------------------

  // How the last two row axes, y and x, are cut into register tiles. A group is a row of tiles when there is more than
  // one along y, else one tile.
  struct RowTiles {
    int x = -1, y = -1;
    int64_t width = 1, height = 1, tile_width = 1, tile_height = 1;

    bool by_rows() const { return tile_height < height; }
    int64_t extent() const { return by_rows() ? height : width; }
    int64_t step() const { return by_rows() ? tile_height : tile_width; }
    int64_t whole() const { return extent() / step(); }  // groups of full size
    int64_t rest() const { return extent() % step(); }   // rows of the last, smaller one
    int64_t tiles_in_group() const { return by_rows() ? ceil_div(width, tile_width) : 1; }
  };

  RowTiles cut_rows() const {
    const std::vector<int>& axes = plan_.row_axes;
    RowTiles t;
    if (!axes.empty()) t.x = axes.back(), t.width = std::max<int64_t>(extent(t.x), 1);
    if (axes.size() > 1) t.y = axes[axes.size() - 2], t.height = std::max<int64_t>(extent(t.y), 1);
    // Rows are split evenly: 49 become 13, 13, 13, 10 and not 14, 14, 14, 7.
    t.tile_width = ceil_div(t.width, ceil_div(t.width, tile_.rows));
    if (t.width <= tile_.rows) t.tile_height = std::clamp<int64_t>(tile_.rows / t.width, 1, t.height);
    return t;
  }

  // The number of a tile among those of a panel.
  struct TileNumber {
    Expr number;
    int64_t count = 0;
  };

  // `count` groups from the first on, and the last, smaller one if asked for.
  struct GroupRange {
    Expr first;
    int64_t count;
    bool with_rest;
  };

  Stmt groups(const Position& at, const GroupRange& range) {
    const RowTiles& r = row_tiles_;
    bool rest = range.with_rest && r.rest() > 0;
    int64_t in_group = r.tiles_in_group();
    int64_t tiles = (range.count + (rest ? 1 : 0)) * in_group;
    Var g = make_var("group");
    Stmt body =
        for_loop(g, range.count, LoopKind::parallel,
                 group(at, (range.first + Expr(g)) * Expr(r.step()), r.step(), {Expr(g) * Expr(in_group), tiles}));
    if (!rest) return body;
    TileNumber last{Expr(tiles - in_group), tiles};
    return sequence({body, group(at, Expr(r.extent() - r.rest()), r.rest(), last)});
  }

  Stmt group(const Position& at, const Expr& begin, int64_t size, const TileNumber& first) {
    const RowTiles& r = row_tiles_;
    if (!r.by_rows()) return tile(at, Expr(0), r.height, begin, size, first);
    Var t = make_var("x_tile");
    Expr left = Expr(t) * Expr(r.tile_width);
    Stmt whole = for_loop(t, r.width / r.tile_width, LoopKind::parallel,
                          tile(at, begin, size, left, r.tile_width, {first.number + Expr(t), first.count}));
    int64_t rest = r.width % r.tile_width;
    if (rest == 0) return whole;
    TileNumber last{first.number + Expr(r.tiles_in_group() - 1), first.count};
    return sequence({whole, tile(at, begin, size, Expr(r.width - rest), rest, last)});
  }

  // Loops over the row axes in front of y and x.
  Stmt other_rows(Stmt body) const {
    const std::vector<int>& axes = plan_.row_axes;
    for (size_t k = axes.size(); k-- > 0;)
      if (axes[k] != row_tiles_.x && axes[k] != row_tiles_.y)
        body = for_loop(axis(axes[k]).var, extent(axes[k]), LoopKind::parallel, body);
    return body;
  }

  // ---- one register tile
  // ------------------------------------------------------------------------------------------------------

  Stmt tile(const Position& at, const Expr& top, int64_t tall, const Expr& left, int64_t wide,
            const TileNumber& which) {
    DType type = stage_.results[0]->type;
    Buffer acc = make_buffer("acc", type, {tall, wide, at.vectors, lanes_}, Scope::reg);
    Var y = make_var("y"), x = make_var("x"), v = make_var("v"), lane = make_var("lane");
    std::vector<Expr> element = {y, x, v, lane};
    // The stage's axes inside of the tile; data sees the first column of the panel only, all of which share its group.
    Substitution rows, columns;
    if (!plan_.row_axes.empty()) rows[axis(plan_.row_axes.back()).var] = left + x;
    if (plan_.row_axes.size() > 1) rows[axis(plan_.row_axes[plan_.row_axes.size() - 2]).var] = top + y;
    columns = rows;
    columns[column_] = at.panel_base + Expr(at.offset) + Expr(v) * Expr(lanes_) + Expr(lane);
    rows[column_] = at.panel_base;

    auto all = [&](Stmt body, int64_t lanes) {
      body = for_loop(lane, lanes, LoopKind::vector, body);
      body = for_loop(v, at.vectors, LoopKind::unrolled, body);
      body = for_loop(x, wide, LoopKind::unrolled, body);
      return for_loop(y, tall, LoopKind::unrolled, body);
    };
    Stmt init = all(store(acc, element, literal(type, int64_t{0})), lanes_);
    Expr product = substitute(data_value(), rows) * substitute(weights_value(), columns);
    Stmt term = all(store(acc, element, multiply_add(product, load(acc, element))), lanes_);
    auto before = [&](const Run& run) {
      Stmt next_data =
          for_loop(y, tall, LoopKind::unrolled, for_loop(x, wide, LoopKind::unrolled, prefetch_data(rows)));
      return sequence({prefetch_next_panel(at, which, run), next_data});
    };
    Stmt prefetched = prefetch_residual(at, columns, wide, tall, {y, x, v, lane});
    if (!sums_in_parts())
      return allocate(acc, sequence({prefetched, init, terms(term, before, nullptr),
                                     drain(at, acc, element, {y, x, v, lane}, columns, wide, tall)}));
    Buffer total = make_buffer("total", type, acc->shape, Scope::local, 64);
    Stmt clear = all(store(total, element, literal(type, int64_t{0})), lanes_);
    Stmt add = sequence({all(store(total, element, load(total, element) + load(acc, element)), lanes_), init});
    Stmt body = sequence({prefetched, clear, init, terms(term, before, add),
                          drain(at, total, element, {y, x, v, lane}, columns, wide, tall)});
    return allocate(total, allocate(acc, body));
  }

  // The factors, read from their copies where there are any.
  Expr data_value() const {
    return with_loads_of(plan_.contraction.data.buffer, data_factor_, [&](const Load& l) {
      return plan_.padded_data ? load(plan_.padded_data, l.indices, l.otherwise) : Expr();
    });
  }
  Expr weights_value() const {
    return with_loads_of(plan_.contraction.weights.buffer, weights_factor_, [&](const Load& l) {
      return plan_.panels ? load(plan_.panels, physical_index(plan_.weights_layout, l.indices)) : Expr();
    });
  }

  // The expression with loads of the buffer replaced, where `f` gives a replacement.
  static Expr with_loads_of(const Buffer& buffer, const Expr& e, const std::function<Expr(const Load&)>& f) {
    return rewrite(e, [&](const Expr& x) {
      const Load* l = as<Load>(x);
      Expr other = l && l->buffer == buffer ? f(*l) : Expr();
      return other ? other : x;
    });
  }

  // Neighbouring terms, before which lines are prefetched: the how-manieth run of the reduction, of how many. A step is
  // the terms of a run between which there is no branch.
  struct Run {
    Expr number;
    int64_t count;
  };
  using BeforeRun = std::function<Stmt(const Run&)>;
  static constexpr int64_t step_terms = 4, run_terms = 16;

  // The loops over the reduced axes. Innermost runs the axis whose terms are neighbours in the data's storage: the
  // elements of a block, if the axis is stored in blocks, which are then the outermost loop; else the last axis.
  // `behind` runs behind every part of the sum, when it is summed in parts.
  Stmt terms(const Stmt& body, const BeforeRun& before, const Stmt& behind) const {
    const auto& axes = stage_.reduction->axes;
    size_t innermost = plan_.blocked_term >= 0 ? static_cast<size_t>(plan_.blocked_term) : axes.size() - 1;
    int64_t extent = axes[innermost].extent.value(), others = 1;
    for (size_t t = 0; t < axes.size(); ++t)
      if (t != innermost) others *= axes[t].extent.value();
    int64_t size = std::max<int64_t>(extent, 1);
    if (plan_.blocked_term >= 0)
      size = plan_.term_block;
    else if (axes.size() == 1 && extent >= run_terms)
      size = run_terms;
    else if (behind)
      size = std::min(size, plan_.terms_per_sum);
    int64_t blocks = extent / size, rest = extent % size;
    int64_t whole = blocks * others * runs_of(size), all = whole + others * runs_of(rest);
    auto one_block = [&](const Expr& block, int64_t count, const Expr& runs_before) {
      int64_t inside = others * runs_of(count);
      Expr own(0);
      for (size_t t = 0; t < axes.size(); ++t)
        if (t != innermost) own = own * Expr(axes[t].extent.value()) + Expr(axes[t].var);
      Expr number = runs_before + own * Expr(inside / std::max<int64_t>(others, 1));  // of the block's first run here
      Stmt loops = run_of_terms(body, axes[innermost].var, block * Expr(size), count, {number, all}, before);
      for (size_t t = axes.size(); t-- > 0;)
        if (t != innermost) loops = for_loop(axes[t].var, axes[t].extent.value(), LoopKind::serial, loops);
      return loops;
    };
    Expr runs_per_block(others * runs_of(size));
    auto some_blocks = [&](const Expr& first, int64_t count) {
      Var block = make_var("block");
      Expr number = first + Expr(block);
      return for_loop(block, count, LoopKind::serial, one_block(number, size, number * runs_per_block));
    };
    std::vector<Stmt> parts;
    int64_t per_sum = behind ? std::max<int64_t>(plan_.terms_per_sum / std::max<int64_t>(size * others, 1), 1) : blocks;
    if (blocks > 0) {
      Var part = make_var("part");
      parts.push_back(for_loop(part, blocks / per_sum, LoopKind::serial,
                               sequence({some_blocks(Expr(part) * Expr(per_sum), per_sum), behind})));
      if (int64_t left = blocks % per_sum) {
        parts.push_back(some_blocks(Expr(blocks - left), left));
        parts.push_back(behind);
      }
    }
    if (rest > 0) {
      parts.push_back(one_block(Expr(blocks), rest, Expr(whole)));
      parts.push_back(behind);
    }
    return sequence(std::move(parts));
  }

  // Long sums lose accuracy with every term: where that matters, parts are summed first.
  bool sums_in_parts() const {
    int64_t all = 1;
    for (const Axis& a : stage_.reduction->axes) all *= a.extent.value();
    return plan_.terms_per_sum > 0 && all > plan_.terms_per_sum && is_float(stage_.results[0]->type);
  }

  // Few terms, such as the taps of a row or the channels of a picture, are a plain loop.
  int64_t steps_of(int64_t count) const {
    bool plain = plan_.blocked_term < 0 && count < 4 * step_terms;
    return plain ? 0 : count / step_terms;
  }
  // The steps of a block make one run; where the terms lie in no blocks, each step is one.
  static constexpr int64_t steps_per_run = run_terms / step_terms;
  int64_t runs_of(int64_t count) const {
    int64_t steps = steps_of(count);
    return steps <= steps_per_run ? std::min<int64_t>(steps, 1) : steps;
  }

  // `count` neighbouring terms of an axis from `base` on.
  Stmt run_of_terms(const Stmt& body, const Var& axis, const Expr& base, int64_t count, const Run& first,
                    const BeforeRun& before) const {
    int64_t steps = steps_of(count), rest = count - steps * step_terms;
    Var step = make_var("step"), term = make_var("term"), last = make_var("term");
    std::vector<Stmt> parts;
    if (steps > 0) {
      Stmt whole = substitute(body, {{axis, base + Expr(step) * Expr(step_terms) + Expr(term)}});
      whole = for_loop(term, step_terms, LoopKind::unrolled, whole);
      bool one = steps <= steps_per_run;
      if (one) parts.push_back(substitute(before(first), {{axis, base}}));
      if (!one) whole = sequence({before({first.number + Expr(step), first.count}), whole});
      parts.push_back(for_loop(step, steps, LoopKind::serial, whole));
    }
    bool few = steps > 0 || plan_.blocked_term >= 0;
    Stmt more = substitute(body, {{axis, base + Expr(steps * step_terms) + Expr(last)}});
    if (rest > 0) parts.push_back(for_loop(last, rest, few ? LoopKind::unrolled : LoopKind::serial, more));
    return sequence(std::move(parts));
  }

  // The data of the next block of channels under the same tap: neighbours within a block, but far from this one.
  Stmt prefetch_data(const Substitution& rows) const {
    if (plan_.blocked_term < 0) return nullptr;
    const Axis& channels = stage_.reduction->axes[static_cast<size_t>(plan_.blocked_term)];
    const Load& data = plan_.contraction.data;
    if (channels.extent.value() <= plan_.term_block || (data.otherwise && !plan_.padded_data)) return nullptr;
    std::vector<Expr> index;
    for (const Expr& i : data.indices)
      index.push_back(substitute(substitute(i, {{channels.var, Expr(channels.var) + Expr(plan_.term_block)}}), rows));
    return make_stmt(Prefetch{plan_.padded_data ? plan_.padded_data : data.buffer, std::move(index)});
  }

  // While a panel is computed, the next one is fetched: every tile takes a contiguous share, every run a few lines of
  // it.
  Stmt prefetch_next_panel(const Position& at, const TileNumber& tile, const Run& run) const {
    if (at.offset != 0 || !plan_.panels) return nullptr;
    constexpr int64_t line_bits = 64 * 8;
    const Load& weights = plan_.contraction.weights;
    int64_t per_line = line_bits / bits(plan_.panels->type), terms = 1;
    Substitution first_term = {{column_, at.panel_base + Expr(plan_.panel)}};
    for (const Axis& a : stage_.reduction->axes) first_term[a.var] = Expr(0), terms *= a.extent.value();
    std::vector<Expr> next;
    for (const Expr& i : weights.indices) next.push_back(substitute(i, first_term));
    next = physical_index(plan_.weights_layout, next);
    int64_t lines = ceil_div(terms * plan_.panel, per_line), of_run = ceil_div(lines, tile.count * run.count);
    Expr first = floor_div(tile.number * Expr(lines), Expr(tile.count)) + run.number * Expr(of_run);
    std::vector<Stmt> hints;
    for (int64_t k = 0; k < of_run; ++k) {
      std::vector<Expr> index = next;
      index.back() = index.back() + (first + Expr(k)) * Expr(per_line);
      hints.push_back(make_stmt(Prefetch{plan_.panels, std::move(index), CacheLevel::second}));
    }
    return sequence(std::move(hints));
  }

  // Large tensors that the epilogue reads at the tile's own index are fetched before its products are summed.
  Stmt prefetch_residual(const Position& at, const Substitution& columns, int64_t wide, int64_t tall,
                         const std::vector<Var>& vars) const {
    if (plan_.contraction.epilogue < 0) return nullptr;
    const Stage& last = plan_.function.stages.back();
    std::vector<Expr> index;
    for (const Axis& a : stage_.axes)
      index.push_back(substitute(substitute(Expr(a.var), columns), {{vars[3], Expr(0)}}));
    std::vector<Stmt> hints;
    for (const Buffer& b : plan_.function.params) {
      bool large = product_of(b) * bits(b->type) / 8 > machine_.l2_bytes / 4;
      bool own = large && b->rank() == static_cast<int>(index.size()) && reads_at_own_index(last, b.get()) &&
                 std::ranges::any_of(loads_of(last.values[0]), [&](const Load& l) { return l.buffer == b; });
      if (own) hints.push_back(make_stmt(Prefetch{b, index}));
    }
    Stmt body = for_loop(vars[2], at.vectors, LoopKind::unrolled, sequence(std::move(hints)));
    return for_loop(vars[0], tall, LoopKind::unrolled, for_loop(vars[1], wide, LoopKind::unrolled, body));
  }

  // Stores the tile through the epilogue. The last vector may have fewer columns.
  Stmt drain(const Position& at, const Buffer& acc, const std::vector<Expr>& element, const std::vector<Var>& vars,
             const Substitution& columns, int64_t wide, int64_t tall) const {
    std::vector<Expr> index;
    for (const Axis& a : stage_.axes) index.push_back(substitute(Expr(a.var), columns));
    // Vectors outermost: rows of a vector lie next to each other where results are stored in blocks.
    auto vectors = [&](LoopKind kind, const Stmt& body, int64_t first, int64_t count, int64_t lanes) -> Stmt {
      if (count <= 0 || lanes <= 0) return nullptr;
      Var v = make_var("v");
      Stmt s = for_loop(vars[3], lanes, LoopKind::vector, substitute(body, {{vars[2], Expr(v) + Expr(first)}}));
      return for_loop(v, count, kind, for_loop(vars[0], tall, kind, for_loop(vars[1], wide, kind, s)));
    };
    auto all = [&](LoopKind kind, const Stmt& body) {
      int64_t whole = at.columns_left / lanes_;
      return sequence({vectors(kind, body, 0, whole, lanes_), vectors(kind, body, whole, 1, at.columns_left % lanes_)});
    };
    return sequence({all(LoopKind::unrolled, epilogue_.store_total(load(acc, element), index)),
                     epilogue_.has_finish() ? all(LoopKind::serial, epilogue_.finish(index)) : nullptr});
  }

  const ContractionPlan& plan_;
  const Machine& machine_;
  const Stage& stage_;
  Epilogue epilogue_;
  Var column_;
  Expr data_factor_, weights_factor_;
  int64_t lanes_ = 1;
  RegisterTile tile_;
  RowTiles row_tiles_;
};

}  // namespace

RegisterTile choose_register_tile(const Machine& m, int64_t lanes, int64_t panel) {
  RegisterTile best;
  double best_ratio = 0;
  for (int64_t nv = 1; nv * lanes <= panel; ++nv) {
    if (panel % (nv * lanes)) continue;
    int64_t rows = (m.vector_registers - 2 - nv) / nv;
    if (rows < 1) continue;
    double ratio = static_cast<double>(nv * rows) / static_cast<double>(nv + rows);
    if (ratio > best_ratio) best = {rows, nv}, best_ratio = ratio;
  }
  return best;
}

Stmt schedule_contraction(const ContractionPlan& plan, const Machine& machine) {
  return Scheduler(plan, machine).run();
}

}  // namespace dlcc::tensor
