#include "tensor/schedules/contraction.h"

#include <algorithm>
#include <functional>

#include "tensor/byte_products.h"
#include "tensor/layout.h"
#include "tensor/schedules/contraction_k_loops.h"
#include "tensor/schedules/contraction_tile.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_tiles.h"
#include "tensor/schedules/sizes.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class ContractionScheduler {
 public:
  ContractionScheduler(const ContractionPlan& plan, const Machine& machine, const TuningConfig& config,
                       bool in_line_buffer)
      : plan_(plan),
        machine_(machine),
        config_(config),
        stage_(plan.function.stages[0]),
        tile_(plan, machine, config, in_line_buffer),
        k_loops_(tile_.k_loops()) {}

  Stmt run() { return sequence({copies(), products()}); }

  Stmt copies() {
    Stmt of_data = tile_.multiplies_words() ? sequence({tile_.widen_data(), tile_.store_row_products()})
                   : plan_.data_copy        ? copy_data()
                                            : nullptr;
    return sequence({of_data, plan_.packs_at_run_time ? pack() : nullptr});
  }

  Stmt area(const ContractionArea& a) {
    return one_panel(a.first_n, a.n, [&](const TilePosition& at) {
      return is_static_image() ? sums(at, {a.top, Expr(0), a.tall, width()})
                               : sums_of_symbolic_image(at, a.top, a.tall);
    });
  }

 private:
  const Axis& axis(int k) const { return stage_.axes[static_cast<size_t>(k)]; }
  int64_t extent(int k) const { return axis(k).extent.value(); }
  bool is_static_image() const {
    return std::ranges::all_of(plan_.m_axes, [&](int k) { return axis(k).extent.is_constant(); });
  }
  Dim extent_of_m(int k) const { return k < 0 ? Dim(1) : axis(k).extent; }
  int64_t height() const { return tile_.y_axis() < 0 ? 1 : std::max<int64_t>(extent(tile_.y_axis()), 1); }
  int64_t width() const { return tile_.x_axis() < 0 ? 1 : std::max<int64_t>(extent(tile_.x_axis()), 1); }
  Area image() const { return {Expr(0), Expr(0), height(), width()}; }

  // ---- copies of operands

  Stmt copy_data() {
    StorageLoops loops = storage_loops(plan_.data_layout, plan_.data_copy->shape);
    std::vector<Expr> from = loops.index;
    for (size_t d = 0; d < from.size(); ++d) from[d] = from[d] * Expr(plan_.data_strides[d]);
    Stmt copy = store(plan_.data_copy, loops.index, load(plan_.contraction.data.buffer, from));
    Stmt halo = fill_halo(plan_.data_copy, plan_.data_layout, fill());
    return plan_.rows_dim >= 0 ? halo : sequence({halo, loops.in_vectors(copy)});
  }

  Expr fill() const { return plan_.fill ? plan_.fill : literal(plan_.data_copy->type, int64_t{0}); }

  // Copies the rows that row y of the result reads (ContractionPlan::rows_dim). Rows outside the image are padding.
  Stmt copy_rows() {
    const Layout layout = explicit_layout(plan_.data_layout, plan_.data_copy->shape);
    StorageLoops loops = storage_loops(layout, plan_.data_copy->shape);
    const auto d = static_cast<size_t>(plan_.rows_dim);
    const auto in_storage = std::ranges::find(layout.parts, plan_.rows_dim, &Layout::Part::axis);
    const auto outer = static_cast<size_t>(in_storage - layout.parts.begin()) + 1;
    std::vector<Expr> from = loops.index;
    Var row = make_var("row");
    from[d] = row;
    auto each = [&](const Expr& value) {
      Stmt body = store(plan_.data_copy, loops.index, value);
      return loops.wrap(body, outer, loops.vars.size(), LoopKind::vector);
    };
    const Buffer& data = plan_.contraction.data.buffer;
    Stmt copy = if_then(logical_and(Expr(row) >= Expr(0), Expr(row) < Expr(data->shape[d])), each(load(data, from)),
                        each(fill()));
    return loops.wrap(let(row, plan_.first_row + loops.index[d], copy), 0, outer);
  }

  Stmt pack() {
    const Buffer& from = plan_.contraction.weights.buffer;
    StorageLoops loops = storage_loops(plan_.weights_layout, from->shape);
    std::vector<Expr> at(loops.vars.begin(), loops.vars.end());
    Expr value = load(from, loops.index, literal(from->type, int64_t{0}));
    return loops.wrap(store(plan_.panels, at, value), 0, loops.vars.size(), LoopKind::vector);
  }

  // ---- loops over batch, panels and M blocks

  // The loops over panels and M blocks, in one of two orders. Panels outermost: the data is read once for each panel. M
  // blocks outermost: the weights are read once for each block.
  Stmt products() {
    Stmt body;
    if (!is_static_image())
      body = panels([&](const TilePosition& at) {
        return outer_m_loops(sums_of_symbolic_image(at, Expr(0), extent_of_m(tile_.y_axis())));
      });
    else if (plan_.rows_dim >= 0)
      body = outer_m_loops(each_row());
    else if (tile_.multiplies_words())
      body = outer_m_loops(each_block(image(), pixels_of_words_block, [&](const Area& block) {
        return panels([&](const TilePosition& at) { return sums_of_words(at, block); });
      }));
    else if (prefers_m_blocking(image()))
      body = outer_m_loops(each_m_block(
          image(), [&](const Area& block) { return panels([&](const TilePosition& at) { return sums(at, block); }); }));
    else
      body = panels([&](const TilePosition& at) { return outer_m_loops(sums(at, image())); });
    for (size_t k = plan_.batch_axes.size(); k-- > 0;) {
      const Axis& a = axis(plan_.batch_axes[k]);
      body = for_loop(a.var, a.extent.value(), LoopKind::parallel, body);
    }
    return body;
  }

  // The loop over rows of an image whose padded rows are copied: all panels read the copy.
  Stmt each_row() {
    const Axis& y = axis(tile_.y_axis());
    Var row = make_var("y");
    Stmt products = panels([&](const TilePosition& at) { return sums(at, {Expr(row), Expr(0), 1, width()}); });
    Stmt copy = substitute(copy_rows(), {{y.var, Expr(row)}});
    return for_loop(row, y.extent.value(), LoopKind::serial, sequence({copy, products}));
  }

  Stmt panels(const std::function<Stmt(const TilePosition&)>& body) {
    int64_t n = extent(plan_.n_axis), width = std::max(plan_.panel_width, tile_.n());
    // Results in blocks of N are stored as whole blocks, unless panels end within a block.
    bool whole_blocks = plan_.blocked_result && width % channel_block == 0;
    int64_t stored = whole_blocks ? round_up(n, channel_block) : n;
    int64_t whole = stored / width;
    Var p = make_var("panel");
    Stmt all = for_loop(p, whole, LoopKind::parallel, one_panel(Expr(p) * Expr(width), width, body));
    return stored % width ? sequence({all, one_panel(Expr(whole * width), stored % width, body)}) : all;
  }

  Stmt one_panel(const Expr& base, int64_t n, const std::function<Stmt(const TilePosition&)>& body) {
    std::vector<Stmt> tiles;
    for (int64_t offset = 0; offset < n; offset += tile_.n()) {
      int64_t left = std::min(n - offset, tile_.n());
      tiles.push_back(body({base, offset, ceil_div(left, tile_.n_per_vector()), left}));
    }
    return sequence(std::move(tiles));
  }

  // Loops over the M axes around the image.
  Stmt outer_m_loops(Stmt body) const {
    const std::vector<int>& axes = plan_.m_axes;
    for (size_t k = axes.size(); k-- > 0;)
      if (axes[k] != tile_.x_axis() && axes[k] != tile_.y_axis())
        body = for_loop(axis(axes[k]).var, Expr(axis(axes[k]).extent), LoopKind::parallel, body);
    return body;
  }

  // The register tiles of an M block reuse the operands that are read for it.
  int64_t pixels_of_m_block() const { return machine_.tiles_per_m_block * tile_.rows(); }

  bool prefers_m_blocking(const Area& image) const {
    int64_t n = extent(plan_.n_axis), pixels = image.tall * image.wide;
    bool several = n > plan_.panel_width && pixels > machine_.max_uncut_m_blocks * pixels_of_m_block();
    int64_t data = bytes_of(tile_.data_read()), weights = bytes_of(plan_.contraction.weights.buffer);
    int64_t panels = ceil_div(n, plan_.panel_width);
    int64_t weight_reads = weights > machine_.l2_budget() ? ceil_div(pixels, pixels_of_m_block()) : 1;
    bool reads_less = data > machine_.l2_budget() && data + weight_reads * weights < panels * data + weights;
    return several && config_.m_blocking.value_or(reads_less);
  }

  Stmt each_m_block(const Area& area, const std::function<Stmt(const Area&)>& body) const {
    return each_block(area, pixels_of_m_block(), body);
  }
  Stmt tiles(const TilePosition& at, const Area& area, const std::function<Stmt(const Tile&)>& body) const {
    return each_tile(area, tile_.rows(), at.vectors, machine_, body, tile_.share_of_k());
  }

  // ---- K

  // Pixels that read the words of one panel's weights in turn. Their own words, of up to a thousand K indices, stay in
  // the second-level cache, and widening the weights is a small share of the work.
  static constexpr int64_t pixels_of_words_block = 256;

  // The results of an area for the vectors `at` of a panel.
  Stmt sums(const TilePosition& at, const Area& area) {
    int64_t blocks = k_loops_.blocks_per_partial_sum(ceil_div(height() * width(), tile_.rows()));
    if (blocks == 0) return tiles(at, area, [&](const Tile& t) { return tile_.in_registers(at, t); });
    return each_m_block(area, [&](const Area& block) { return k_blocked_sums(at, block, blocks); });
  }

  // The results of the rows [top, top + tall) of an image of symbolic size.
  Stmt sums_of_symbolic_image(const TilePosition& at, const Expr& top, const Dim& tall) {
    const int64_t blocks = k_loops_.blocks_per_partial_sum(1);
    return each_area(tall, extent_of_m(tile_.x_axis()), tile_.rows(), [&](Area area) {
      area.top = top + area.top;
      if (blocks > 0) return k_blocked_sums(at, area, blocks);
      return tiles(at, area, [&](const Tile& t) { return tile_.in_registers(at, t); });
    });
  }

  // The results of an area by inner products of words (schedules/inner_products.h).
  Stmt sums_of_words(const TilePosition& at, const Area& area) {
    const int64_t blocks = std::max<int64_t>(machine_.l1_bytes / tile_.bytes_of_weight_words(), 1);
    auto with_words = [&](const WeightWords& w, const KRange& range, const Stmt& body) {
      return allocate(w.words, sequence({tile_.widen_weights(at, range, w), body}));
    };
    if (blocks >= k_loops_.blocks()) {
      const WeightWords w = tile_.weight_words(at, k_loops_.all());
      Stmt products = tiles(at, area, [&](const Tile& t) { return tile_.in_registers(at, t, &w); });
      return allocate(w.column_products,
                      sequence({cleared(w.column_products), with_words(w, k_loops_.all(), products)}));
    }
    Buffer total = tile_.totals(at, area.tall, area.wide);
    Buffer column_products;
    auto add = [&](const KRange& range) {
      WeightWords w = tile_.weight_words(at, range);
      if (column_products) w.column_products = column_products;
      column_products = w.column_products;
      Stmt sums = tiles(at, area, [&](const Tile& t) { return tile_.add_partial_sums(at, t, range, total, &w); });
      return with_words(w, range, sums);
    };
    const int64_t whole = k_loops_.blocks() / blocks, left = k_loops_.blocks() % blocks;
    Var range = make_var("k_range");
    Stmt whole_ranges = for_loop(range, whole, LoopKind::serial, add({Expr(range) * Expr(blocks), blocks, false}));
    Stmt last_range = left > 0 ? add({Expr(whole * blocks), left, true}) : nullptr;
    const WeightWords w = {.words = nullptr, .column_products = column_products, .first_block = {}};
    Stmt stores =
        tiles(at, area, [&](const Tile& t) { return tile_.store_tile(at, t, total, t.top_here, t.left_here, &w); });
    return allocate(total, allocate(column_products, sequence({cleared(total), cleared(column_products), whole_ranges,
                                                               last_range, stores})));
  }

  // K-blocking: partial sums over `blocks` K blocks at a time.
  Stmt k_blocked_sums(const TilePosition& at, const Area& area, int64_t blocks) {
    Buffer total = tile_.totals(at, area.tall, area.wide);
    auto add = [&](const KRange& range) {
      return tiles(at, area, [&](const Tile& t) { return tile_.add_partial_sums(at, t, range, total); });
    };
    int64_t whole = k_loops_.blocks() / blocks, left = k_loops_.blocks() % blocks;
    Var range = make_var("k_range");
    Stmt whole_ranges = for_loop(range, whole, LoopKind::serial, add({Expr(range) * Expr(blocks), blocks, false}));
    Stmt last_range = left > 0 || k_loops_.has_rest() ? add({Expr(whole * blocks), left, true}) : nullptr;
    Stmt stores =
        tiles(at, area, [&](const Tile& t) { return tile_.store_tile(at, t, total, t.top_here, t.left_here); });
    return allocate(total, sequence({cleared(total), whole_ranges, last_range, stores}));
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

  const ContractionPlan& plan_;
  const Machine& machine_;
  const TuningConfig& config_;
  const Stage& stage_;
  ContractionTile tile_;
  const KLoops& k_loops_;
};

}  // namespace

namespace {

// Whether a tile of dot products fits the general registers. Of factors of four bytes, the even and the odd bytes have
// a register each. The data of one pixel is in registers at a time; all weights of the tile are, if it has several
// pixels, else one of them. Longer factors are in vector registers, and the sum of `vmladava` is in a general register
// of even number; the loops' registers may be the odd ones.
bool fits_general_registers(const Machine& m, const RegisterTile& tile, int64_t accumulators_of_element,
                            int64_t bytes) {
  constexpr int64_t halves = 2;
  if (bytes > least_bytes_of_product)
    return tile.rows * tile.vectors * accumulators_of_element <= m.general_registers / 2;
  const int64_t weights = tile.rows > 1 ? tile.vectors : 1;
  return tile.rows * tile.vectors * accumulators_of_element + halves * (weights + 1) + m.registers_per_loop <=
         m.general_registers;
}

}  // namespace

bool fits_registers(const Machine& m, const RegisterTile& tile, int64_t accumulators_of_element, int64_t k_interleave,
                    bool byte_products) {
  if (byte_products && is_scalar(m.byte_products))
    return fits_general_registers(m, tile, accumulators_of_element, k_interleave);
  const int64_t of_floats = m.has_fma ? 0 : k_interleave > 1 ? m.paired_product_registers : m.product_registers;
  const int64_t of_bytes = m.byte_products == ByteProducts::pairs          ? tile.vectors + m.byte_pair_registers
                           : m.byte_products == ByteProducts::signed_pairs ? m.byte_pair_registers
                                                                           : 0;
  const int64_t product = byte_products ? of_bytes : of_floats;
  const int64_t data = m.multiplies_by_lane && !byte_products ? tile.rows : 1;
  return tile.rows * tile.vectors * accumulators_of_element + tile.vectors + data + product + m.unassigned_registers <=
         m.vector_registers;
}

RegisterTile choose_register_tile(const Machine& m, int64_t n_per_vector, int64_t panel_width, int64_t k_interleave,
                                  bool byte_products, int64_t max_rows) {
  RegisterTile best;
  double best_ratio = 0;
  for (int64_t nv = 1; nv * n_per_vector <= panel_width; ++nv) {
    if (panel_width % (nv * n_per_vector)) continue;
    int64_t rows = 0;
    while (rows < max_rows && fits_registers(m, {rows + 1, nv}, 1, k_interleave, byte_products)) ++rows;
    if (rows < 1) continue;
    double products_per_load = static_cast<double>(nv * rows) / static_cast<double>(nv + rows);
    if (products_per_load > best_ratio) best = {rows, nv}, best_ratio = products_per_load;
  }
  return best;
}

std::optional<RegisterTile> tile_of_few_rows(const Machine& m, int64_t rows, int64_t n_per_vector,
                                             int64_t panel_width) {
  const int64_t vectors = panel_width / n_per_vector;
  if (rows * vectors >= m.accumulators_in_flight) return std::nullopt;
  // Vectors of weights are loaded one at a time, each just before its products: they take one register.
  const int64_t product = m.has_fma ? 0 : m.product_registers;
  const int64_t free = m.vector_registers - rows - 1 - product - m.unassigned_registers;
  const int64_t panels = std::min(m.panels_at_once, free / (rows * vectors));
  return panels > 0 ? std::optional(RegisterTile{rows, panels * vectors}) : std::nullopt;
}

Stmt schedule_contraction(const ContractionPlan& plan, const Machine& machine, const TuningConfig& config) {
  return ContractionScheduler(plan, machine, config, false).run();
}

Stmt schedule_copies(const ContractionPlan& plan, const Machine& machine) {
  return ContractionScheduler(plan, machine, {}, false).copies();
}

Stmt schedule_area(const ContractionPlan& plan, const ContractionArea& area, const Machine& machine,
                   const TuningConfig& config) {
  return ContractionScheduler(plan, machine, config, true).area(area);
}

}  // namespace dlcc::tensor
