#include "tensor/schedules/contraction.h"

#include <algorithm>
#include <functional>

#include "tensor/layout.h"
#include "tensor/schedules/contraction_k_loops.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_tiles.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Scheduler {
 public:
  Scheduler(const ContractionPlan& plan, const Machine& machine, const TuningConfig& config)
      : plan_(plan),
        machine_(machine),
        config_(config),
        stage_(plan.function.stages[0]),
        epilogue_(stage_, plan.contraction.epilogue < 0 ? nullptr : &plan.function.stages.back()),
        column_(axis(plan.n_axis).var),
        terms_(plan, machine, config) {
    const Binary& product = *as<Binary>(stage_.values[0]);
    bool data_first =
        loads_of(product.a)[0].buffer == plan.contraction.data.buffer &&
        std::ranges::equal(loads_of(product.a)[0].indices, plan.contraction.data.indices, structurally_equal);
    data_factor_ = data_first ? product.a : product.b;
    weights_factor_ = data_first ? product.b : product.a;
    lanes_ = std::min<int64_t>(machine.lanes(bits(product.a.type())), channel_block);
    columns_of_vector_ = lanes_ / plan.interleave;
    tile_ = choose_register_tile(machine, columns_of_vector_, plan.panel);
  }

  Stmt run() { return sequence({copies(), products()}); }

  Stmt copies() {
    return sequence({plan_.data_copy ? copy_data() : nullptr, plan_.packs_at_run_time ? pack() : nullptr});
  }

  Stmt area(const ContractionArea& a) {
    stores_elsewhere_ = true;
    return one_panel(a.first_column, a.columns, [&](const Position& at) {
      return sums(at, {a.top, Expr(0), a.tall, width()});
    });
  }

 private:
  const Axis& axis(int k) const { return stage_.axes[static_cast<size_t>(k)]; }
  int64_t extent(int k) const { return axis(k).extent.value(); }

  // ---- copies

  Stmt copy_data() {
    StorageLoops loops = storage_loops(plan_.data_layout, static_shape(plan_.data_copy->shape));
    std::vector<Expr> from = loops.index;
    for (size_t d = 0; d < from.size(); ++d) from[d] = from[d] * Expr(plan_.data_steps[d]);
    Stmt copy = store(plan_.data_copy, loops.index, load(plan_.contraction.data.buffer, from));
    return sequence(
        {zero_halo(plan_.data_copy, plan_.data_layout), loops.wrap(copy, 0, loops.vars.size(), LoopKind::vector)});
  }

  Stmt pack() {
    const Buffer& from = plan_.contraction.weights.buffer;
    StorageLoops loops = storage_loops(plan_.weights_layout, static_shape(from->shape));
    std::vector<Expr> at(loops.vars.begin(), loops.vars.end());
    Expr value = load(from, loops.index, literal(from->type, int64_t{0}));
    return loops.wrap(store(plan_.panels, at, value), 0, loops.vars.size(), LoopKind::vector);
  }

  // ---- loops over tiles

  // The columns of a tile.
  struct Position {
    Expr panel_base;  // first column of the panel
    int64_t offset;   // of the tile's first column in the panel
    int64_t vectors;
    int64_t columns_left;  // columns of the tile that exist; at most as many as the vectors have
  };

  // Panel after panel, each over all rows: the rows are read once for every panel. When they do not stay in the cache,
  // and it is less to read the panels again, block after block of rows, each over all panels.
  Stmt products() {
    Area image{Expr(0), Expr(0), height(), width()};
    Stmt body;
    if (blocks_pay(image))
      body = other_rows(blocks(
          image, [&](const Area& block) { return panels([&](const Position& at) { return sums(at, block); }); }));
    else
      body = panels([&](const Position& at) { return other_rows(sums(at, image)); });
    for (size_t k = plan_.batch_axes.size(); k-- > 0;) {
      const Axis& a = axis(plan_.batch_axes[k]);
      body = for_loop(a.var, a.extent.value(), LoopKind::parallel, body);
    }
    return body;
  }

  static int64_t bytes_of(const Buffer& b) { return dlcc::product(b->shape).value() * bits(b->type) / 8; }

  Stmt panels(const std::function<Stmt(const Position&)>& body) {
    int64_t columns = extent(plan_.n_axis), panel = plan_.panel;
    // Storage in blocks has room for whole blocks, unless panels end within one; dense storage ends with the last
    // column.
    bool whole_blocks = plan_.blocked_result && plan_.panel % channel_block == 0;
    int64_t stored = whole_blocks ? round_up(columns, channel_block) : columns;
    int64_t whole = stored / panel;
    Var p = make_var("panel");
    Stmt all = for_loop(p, whole, LoopKind::parallel, one_panel(Expr(p) * Expr(panel), panel, body));
    return stored % panel ? sequence({all, one_panel(Expr(whole * panel), stored % panel, body)}) : all;
  }

  Stmt one_panel(const Expr& base, int64_t columns, const std::function<Stmt(const Position&)>& body) {
    std::vector<Stmt> tiles;
    int64_t width = tile_.vectors * columns_of_vector_;
    for (int64_t offset = 0; offset < columns; offset += width) {
      int64_t left = std::min(columns - offset, width);
      tiles.push_back(body({base, offset, ceil_div(left, columns_of_vector_), left}));
    }
    return sequence(std::move(tiles));
  }

  // ---- loops over rows

  // The last two row axes are an image of rows and columns of pixels; a single one is an image of one row.
  int y_axis() const { return plan_.m_axes.size() > 1 ? plan_.m_axes[plan_.m_axes.size() - 2] : -1; }
  int x_axis() const { return plan_.m_axes.empty() ? -1 : plan_.m_axes.back(); }
  int64_t height() const { return y_axis() < 0 ? 1 : std::max<int64_t>(extent(y_axis()), 1); }
  int64_t width() const { return x_axis() < 0 ? 1 : std::max<int64_t>(extent(x_axis()), 1); }

  // Some register tiles: enough to make use of what is read once for all of them.
  int64_t pixels_of_block() const { return machine_.tiles_per_m_block * tile_.rows; }

  bool blocks_pay(const Area& image) const {
    bool several = extent(plan_.n_axis) > plan_.panel && image.tall * image.wide > 2 * pixels_of_block();
    int64_t data = bytes_of(data_read()), weights = bytes_of(plan_.contraction.weights.buffer);
    int64_t panels = ceil_div(extent(plan_.n_axis), plan_.panel);
    int64_t times = weights > machine_.l2_budget() ? ceil_div(image.tall * image.wide, pixels_of_block()) : 1;
    bool pays = data > machine_.l2_budget() && data + times * weights < panels * data + weights;
    return several && config_.m_blocking.value_or(pays);
  }

  Stmt blocks(const Area& area, const std::function<Stmt(const Area&)>& body) const {
    return each_block(area, pixels_of_block(), body);
  }
  Stmt tiles(const Position& at, const Area& area, const std::function<Stmt(const Tile&)>& body) const {
    return each_tile(area, tile_.rows, at.vectors, machine_, body);
  }

  // The sums of a panel for an area, and what follows them. In one go, each tile's sums stay in registers; in parts,
  // each part is computed for a block of tiles and added to the totals of them all.
  Stmt sums(const Position& at, const Area& area) {
    int64_t of_part = terms_.blocks_per_part(ceil_div(height() * width(), tile_.rows));
    if (of_part == 0) return tiles(at, area, [&](const Tile& t) { return whole_tile(at, t); });
    return blocks(area, [&](const Area& block) { return sums_in_parts(at, block, of_part); });
  }

  Stmt sums_in_parts(const Position& at, const Area& area, int64_t blocks) {
    Buffer total = totals(at, area.tall, area.wide);
    auto add = [&](const KRange& part) {
      return tiles(at, area, [&](const Tile& t) { return part_of_tile(at, t, part, total); });
    };
    int64_t whole = terms_.blocks() / blocks, left = terms_.blocks() % blocks;
    Var part = make_var("part");
    Stmt whole_parts = for_loop(part, whole, LoopKind::serial, add({Expr(part) * Expr(blocks), blocks, false}));
    Stmt last_part = left > 0 || terms_.has_rest() ? add({Expr(whole * blocks), left, true}) : nullptr;
    Stmt stores = tiles(at, area, [&](const Tile& t) { return drain(at, t, total, t.top_here, t.left_here); });
    return allocate(total, sequence({cleared(total), whole_parts, last_part, stores}));
  }

  // Memory for what the vectors of an area hold.
  Buffer totals(const Position& at, int64_t tall, int64_t wide) const {
    return make_buffer("total", stage_.results[0]->type, {tall, wide, at.vectors * lanes_}, Scope::local,
                       storage_alignment);
  }

  static Stmt cleared(const Buffer& b) {
    std::vector<Expr> index;
    std::vector<Var> vars;
    for (int k = 0; k < b->rank(); ++k) index.push_back(vars.emplace_back(make_var("i")));
    Stmt body = store(b, index, literal(b->type, int64_t{0}));
    for (size_t k = vars.size(); k-- > 0;)
      body = for_loop(vars[k], b->shape[k].value(), k + 1 == vars.size() ? LoopKind::vector : LoopKind::serial, body);
    return body;
  }

  // Loops over the row axes in front of y and x.
  Stmt other_rows(Stmt body) const {
    const std::vector<int>& axes = plan_.m_axes;
    for (size_t k = axes.size(); k-- > 0;)
      if (axes[k] != x_axis() && axes[k] != y_axis())
        body = for_loop(axis(axes[k]).var, extent(axes[k]), LoopKind::parallel, body);
    return body;
  }

  // ---- one register tile

  int64_t line_bits() const { return machine_.cache_line_bytes * 8; }

  struct TileVars {
    Var y = make_var("y"), x = make_var("x"), v = make_var("v"), lane = make_var("lane");
    std::vector<Expr> element() const { return {y, x, v, lane}; }
  };

  // The stage's axes inside of the tile, for what depends on rows only: the first column of the panel stands for all,
  // which share its group.
  Substitution rows_in(const Position& at, const Tile& t, const TileVars& vars) const {
    Substitution rows;
    if (x_axis() >= 0) rows[axis(x_axis()).var] = t.left + vars.x;
    if (y_axis() >= 0) rows[axis(y_axis()).var] = t.top + vars.y;
    rows[column_] = at.panel_base;
    return rows;
  }
  // `lanes` neighbouring columns are a vector.
  Substitution elements_in(const Position& at, const Tile& t, const TileVars& vars, int64_t lanes) const {
    Substitution all = rows_in(at, t, vars);
    Expr in_vector = lanes == lanes_ ? Expr(vars.lane) : floor_div(vars.lane, Expr(lanes_ / lanes));
    all[column_] = at.panel_base + Expr(at.offset) + Expr(vars.v) * Expr(lanes) + in_vector;
    return all;
  }

  static Stmt each_pixel(const Tile& t, const TileVars& vars, LoopKind kind, const Stmt& body) {
    return for_loop(vars.y, t.tall, kind, for_loop(vars.x, t.wide, kind, body));
  }
  Stmt each_element(const Position& at, const Tile& t, const TileVars& vars, const Stmt& body) const {
    Stmt lanes = for_loop(vars.lane, lanes_, LoopKind::vector, body);
    return each_pixel(t, vars, LoopKind::unrolled, for_loop(vars.v, at.vectors, LoopKind::unrolled, lanes));
  }

  Buffer accumulators(const Position& at, const Tile& t) const {
    return make_buffer("acc", stage_.results[0]->type, {t.tall, t.wide, at.vectors, lanes_}, Scope::reg);
  }

  Stmt whole_tile(const Position& at, const Tile& t) const {
    Buffer acc = accumulators(at, t);
    auto next_results = [&](const KRun& run) { return prefetch_next_results(at, t, run); };
    Stmt sums = sum(at, t, terms_.all(), acc, next_results);
    if (plan_.interleave == 1) {
      auto value = [&](const std::vector<Expr>& element) { return load(acc, element); };
      return allocate(acc, sequence({sums, drain(at, t, value)}));
    }
    Buffer total = totals(at, t.tall, t.wide);
    TileVars vars;
    Stmt keep = each_element(at, t, vars, store(total, in_total(vars, Expr(0), Expr(0)), load(acc, vars.element())));
    Stmt kept = allocate(acc, sequence({sums, keep}));
    return allocate(total, sequence({kept, drain(at, t, total, Expr(0), Expr(0))}));
  }

  std::vector<Expr> in_total(const TileVars& vars, const Expr& top, const Expr& left) const {
    return {top + vars.y, left + vars.x, Expr(vars.v) * Expr(lanes_) + Expr(vars.lane)};
  }

  Stmt part_of_tile(const Position& at, const Tile& t, const KRange& part, const Buffer& total) const {
    Buffer acc = accumulators(at, t);
    TileVars vars;
    std::vector<Expr> to = in_total(vars, t.top_here, t.left_here);
    Stmt add = each_element(at, t, vars, store(total, to, load(total, to) + load(acc, vars.element())));
    return allocate(acc, sequence({sum(at, t, part, acc, [](const KRun&) { return nullptr; }), add}));
  }

  // Sets the accumulators to the sums of the part's terms; `beside` each run of them something else is done.
  Stmt sum(const Position& at, const Tile& t, const KRange& part, const Buffer& acc,
           const std::function<Stmt(const KRun&)>& beside) const {
    TileVars vars;
    std::vector<Expr> element = vars.element();
    Substitution rows = rows_in(at, t, vars);
    Expr product =
        substitute(data_value(), rows) * substitute(weights_value(), elements_in(at, t, vars, columns_of_vector_));
    if (plan_.interleave > 1) {
      const Var& term = stage_.reduction->axes[static_cast<size_t>(plan_.blocked_k)].var;
      product = substitute(product, {{term, Expr(term) + floor_mod(vars.lane, Expr(plan_.interleave))}});
    }
    Stmt init = each_element(at, t, vars, store(acc, element, literal(acc->type, int64_t{0})));
    Stmt term = each_element(at, t, vars, store(acc, element, multiply_add(product, load(acc, element), machine_)));
    auto before_run = [&](const KRun& run) {
      return sequence({beside(run), prefetch_next_weights(at, t, part, run, Expr()),
                       each_pixel(t, vars, LoopKind::unrolled, prefetch_next_data(at, rows))});
    };
    auto before_step = [&](const KRun& run, const Expr& step) { return prefetch_next_weights(at, t, part, run, step); };
    return sequence({init, terms_.loops(term, part, {before_run, before_step})});
  }

  // The factors, read from their copies where there are any.
  Expr data_value() const {
    return with_loads_of(plan_.contraction.data.buffer, data_factor_, [&](const Load& l) {
      return plan_.data_copy ? load(plan_.data_copy, in_copy(l.indices), l.otherwise) : Expr();
    });
  }
  Expr weights_value() const {
    return with_loads_of(plan_.contraction.weights.buffer, weights_factor_, [&](const Load& l) {
      return plan_.panels ? load(plan_.panels, physical_index(plan_.weights_layout, l.indices)) : Expr();
    });
  }

  // What the products read: the data, or its copy.
  const Buffer& data_read() const { return plan_.data_copy ? plan_.data_copy : plan_.contraction.data.buffer; }

  // An index of the data in its copy.
  std::vector<Expr> in_copy(std::vector<Expr> index) const {
    for (size_t d = 0; d < index.size(); ++d) index[d] = simplify(floor_div(index[d], Expr(plan_.data_steps[d])));
    return index;
  }

  // The expression with loads of the buffer replaced, where `f` gives a replacement.
  static Expr with_loads_of(const Buffer& buffer, const Expr& e, const std::function<Expr(const Load&)>& f) {
    return rewrite(e, [&](const Expr& x) {
      const Load* l = as<Load>(x);
      Expr other = l && l->buffer == buffer ? f(*l) : Expr();
      return other ? other : x;
    });
  }

  // The data of the next block of channels under the same tap: neighbours within a block, but far from this one, so
  // that no hardware fetches them ahead. Not worth its instructions where the first-level cache keeps most of the data,
  // for a few blocks, or beside a single vector of weights, when loads are what limits the tile.
  Stmt prefetch_next_data(const Position& at, const Substitution& rows) const {
    const Load& data = plan_.contraction.data;
    bool far = bytes_of(data_read()) > machine_.prefetch_threshold();
    bool inside = !data.otherwise || plan_.data_copy;
    if (plan_.blocked_k < 0 || terms_.blocks() < machine_.min_k_blocks_to_prefetch || at.vectors < 2 || !far || !inside)
      return nullptr;
    const Var& channel = stage_.reduction->axes[static_cast<size_t>(plan_.blocked_k)].var;
    Substitution next = {{channel, Expr(channel) + Expr(plan_.k_block)}};
    std::vector<Expr> index;
    for (const Expr& i : data.indices) index.push_back(substitute(substitute(i, next), rows));
    return make_stmt(Prefetch{data_read(), plan_.data_copy ? in_copy(index) : index});
  }

  // While a part of a panel is multiplied, one that comes later is fetched. `step` as in lines_to_fetch.
  Stmt prefetch_next_weights(const Position& at, const Tile& tile, const KRange& part, const KRun& run,
                             const Expr& step) const {
    if (at.offset != 0 || !plan_.panels) return nullptr;
    int64_t per_line = line_bits() / bits(plan_.panels->type);
    int64_t lines = ceil_div(terms_.terms_in(part) * plan_.panel, per_line);
    auto [in_next_panel, begin] = terms_.ahead_of(part);
    begin[column_] = at.panel_base + Expr(in_next_panel ? plan_.panel : 0);
    std::vector<Expr> next;
    for (const Expr& i : plan_.contraction.weights.indices) next.push_back(substitute(i, begin));
    next = physical_index(plan_.weights_layout, next);
    std::vector<Stmt> hints;
    for (const Expr& line : lines_to_fetch(lines, tile.number, tile.count, run, step, machine_)) {
      std::vector<Expr> index = next;
      index.back() = index.back() + line * Expr(per_line);
      hints.push_back(make_stmt(Prefetch{plan_.panels, std::move(index), CacheLevel::second}));
    }
    return sequence(std::move(hints));
  }

  // What the next tile's epilogue reads at its own index is fetched, some pixels of it beside each run of terms; or the
  // lines of its result, where these are not the same. Only what is too large to be near anyway.
  Stmt prefetch_next_results(const Position& at, const Tile& t, const KRun& run) const {
    std::vector<Buffer> far = far_operands();
    const Buffer& result = results_stage().results[0];
    if (far.empty() && !stores_elsewhere_ && bytes_of(result) > machine_.l2_bytes) far = {result};
    if (far.empty()) return nullptr;
    TileVars vars;
    Tile next = t;
    next.top = t.next_top, next.left = t.next_left;
    int64_t of_run = ceil_div(t.wide, run.count);
    Expr first =
        t.wide >= run.count ? run.number * Expr(of_run) : floor_div(run.number * Expr(t.wide), Expr(run.count));
    int64_t vectors = std::max<int64_t>(line_bits() / (lanes_ * bits(result->type)), 1);  // of a line
    std::vector<Expr> index;
    for (const Expr& i : index_of(at, next, vars))
      index.push_back(
          substitute(i, {{vars.lane, Expr(0)}, {vars.x, first + vars.x}, {vars.v, Expr(vars.v) * Expr(vectors)}}));
    std::vector<Stmt> hints;
    for (const Buffer& b : far) hints.push_back(make_stmt(Prefetch{b, index}));
    next.wide = of_run;
    return each_pixel(
        next, vars, LoopKind::unrolled,
        for_loop(vars.v, ceil_div(at.columns_left, lanes_ * vectors), LoopKind::unrolled, sequence(std::move(hints))));
  }

  const Stage& results_stage() const { return plan_.function.stages.back(); }

  std::vector<Buffer> far_operands() const {
    if (plan_.contraction.epilogue < 0) return {};
    const Stage& last = results_stage();
    std::vector<Buffer> found;
    for (const Buffer& b : plan_.function.params)
      if (bytes_of(b) > machine_.l2_reuse_limit() && b->rank() == last.results[0]->rank() &&
          reads_at_own_index(last, b.get()) && reads(last.values[0], b))
        found.push_back(b);
    return found;
  }

  // An element of the result.
  std::vector<Expr> index_of(const Position& at, const Tile& t, const TileVars& vars) const {
    Substitution elements = elements_in(at, t, vars, lanes_);
    std::vector<Expr> index;
    for (const Axis& a : stage_.axes) index.push_back(substitute(Expr(a.var), elements));
    return index;
  }

  // Stores the tile, whose first pixel's vectors lie at (top, left) of `total`.
  Stmt drain(const Position& at, const Tile& t, const Buffer& total, const Expr& top, const Expr& left) const {
    return drain(at, t, [&](const std::vector<Expr>& e) {
      Expr first = (e[2] * Expr(lanes_) + e[3]) * Expr(plan_.interleave), sum;
      for (int64_t k = 0; k < plan_.interleave; ++k) {
        Expr term = load(total, {top + e[0], left + e[1], first + Expr(k)});
        sum = sum ? sum + term : term;
      }
      return sum;
    });
  }

  // Stores the tile, whose sums `value` gives, through the epilogue. The last vector may have fewer columns.
  Stmt drain(const Position& at, const Tile& t, const std::function<Expr(const std::vector<Expr>&)>& value) const {
    TileVars vars;
    std::vector<Expr> index = index_of(at, t, vars);
    // Vectors outermost: rows of a vector lie next to each other where results are stored in blocks.
    auto vectors = [&](LoopKind kind, const Stmt& body, int64_t first, int64_t count, int64_t lanes) -> Stmt {
      if (count <= 0 || lanes <= 0) return nullptr;
      Var v = make_var("v");
      Stmt s = for_loop(vars.lane, lanes, LoopKind::vector, substitute(body, {{vars.v, Expr(v) + Expr(first)}}));
      return for_loop(v, count, kind, each_pixel(t, vars, kind, s));
    };
    auto all = [&](LoopKind kind, const Stmt& body) {
      int64_t whole = at.columns_left / lanes_;
      return sequence({vectors(kind, body, 0, whole, lanes_), vectors(kind, body, whole, 1, at.columns_left % lanes_)});
    };
    return sequence({all(LoopKind::unrolled, epilogue_.store_total(value(vars.element()), index)),
                     epilogue_.has_finish() ? all(LoopKind::serial, epilogue_.finish(index)) : nullptr});
  }

  const ContractionPlan& plan_;
  const Machine& machine_;
  const TuningConfig& config_;
  const Stage& stage_;
  Epilogue epilogue_;
  Var column_;
  Expr data_factor_, weights_factor_;
  int64_t lanes_ = 1, columns_of_vector_ = 1;
  RegisterTile tile_;
  KLoops terms_;
  bool stores_elsewhere_ = false;  // than in the function's result
};

}  // namespace

RegisterTile choose_register_tile(const Machine& m, int64_t columns_of_vector, int64_t panel) {
  RegisterTile best;
  double best_ratio = 0;
  const int64_t product = m.has_fma ? 0 : 1, spare = 1, free = m.vector_registers - product - spare;
  for (int64_t nv = 1; nv * columns_of_vector <= panel; ++nv) {
    if (panel % (nv * columns_of_vector)) continue;
    int64_t rows = m.multiplies_by_lane ? (free - nv) / (nv + 1) : (free - nv - 1) / nv;
    if (rows < 1) continue;
    double ratio = static_cast<double>(nv * rows) / static_cast<double>(nv + rows);
    if (ratio > best_ratio) best = {rows, nv}, best_ratio = ratio;
  }
  return best;
}

Stmt schedule_contraction(const ContractionPlan& plan, const Machine& machine, const TuningConfig& config) {
  return Scheduler(plan, machine, config).run();
}

Stmt schedule_copies(const ContractionPlan& plan, const Machine& machine) {
  return Scheduler(plan, machine, {}).copies();
}

Stmt schedule_area(const ContractionPlan& plan, const ContractionArea& area, const Machine& machine,
                   const TuningConfig& config) {
  return Scheduler(plan, machine, config).area(area);
}

}  // namespace dlcc::tensor
