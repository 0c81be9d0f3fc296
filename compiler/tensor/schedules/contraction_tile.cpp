#include "tensor/schedules/contraction_tile.h"

#include <algorithm>
#include <utility>

#include "support/integers.h"
#include "tensor/byte_products.h"
#include "tensor/layout.h"
#include "tensor/schedules/row_reduction.h"
#include "tensor/schedules/sizes.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The expression with each load of the buffer replaced by f(load); a null result keeps the load.
Expr with_loads_of(const Buffer& buffer, const Expr& e, const std::function<Expr(const Load&)>& f) {
  return rewrite(e, [&](const Expr& x) {
    const Load* l = as<Load>(x);
    Expr other = l && l->buffer == buffer ? f(*l) : Expr();
    return other ? other : x;
  });
}

// The sum of the values, added in pairs; their number is a power of two.
Expr sum_in_pairs(std::vector<Expr> values) {
  for (; values.size() > 1; values.resize(values.size() / 2))
    for (size_t k = 0; 2 * k < values.size(); ++k) values[k] = values[2 * k] + values[2 * k + 1];
  return values[0];
}

}  // namespace

ContractionTile::ContractionTile(const ContractionPlan& plan, const Machine& machine, const TuningConfig& config,
                                 bool in_line_buffer)
    : plan_(plan),
      machine_(machine),
      stage_(plan.function.stages[0]),
      epilogue_(stage_, plan.contraction.epilogue < 0 ? nullptr : &plan.function.stages.back()),
      n_(axis(plan.n_axis).var),
      k_loops_(plan, machine, config),
      in_line_buffer_(in_line_buffer) {
  const Binary& product = *as<Binary>(stage_.values[0]);
  const Load first = loads_of(product.a)[0];
  bool data_first = first.buffer == plan.contraction.data.buffer &&
                    std::ranges::equal(first.indices, plan.contraction.data.indices, structurally_equal);
  data_factor_ = data_first ? product.a : product.b;
  weights_factor_ = data_first ? product.b : product.a;
  lanes_ = std::min<int64_t>(machine.lanes(bits(product.a.type())), channel_block);
  n_per_vector_ = lanes_ / plan.lanes_of_n();
  int64_t max_rows = std::numeric_limits<int64_t>::max();
  // The weights need a line of the set, too.
  if (plan.pixels_share_cache_set) max_rows = machine.l1_ways - 1;
  if (plan.byte_products && is_scalar(machine.byte_products))
    max_rows = std::max<int64_t>(pixels().constant().value_or(max_rows), 1);
  size_ =
      choose_register_tile(machine, n_per_vector_, plan.panel_width, plan.k_interleave, plan.byte_products, max_rows);
  if (may_span_panels())
    size_ = tile_of_few_rows(machine, pixels().value(), n_per_vector_, plan.panel_width).value_or(size_);
  accumulators_of_element_ = accumulators_of_element();
  multiplies_words_ = plan.data_words && multiplies_widened_data(machine.byte_products) &&
                      accumulators_of_element_ == 1 && !in_line_buffer &&
                      bytes_of_weight_words() <= 2 * machine.l1_bytes;  // they are on the stack
  if (!multiplies_words_) find_padding();  // products of padding are not zero in inner products
}

Dim ContractionTile::pixels() const {
  Dim product = 1;
  for (int k : plan_.m_axes) product = product * axis(k).extent;
  return product;
}

// Whether the tile may span several panels: it must have all pixels, and all panels must read the same data. If threads
// share the panels, each thread reads a panel of its own, which gives enough streams without such tiles.
bool ContractionTile::may_span_panels() const {
  const bool has_groups = uses(plan_.contraction.data, n_);
  if (in_line_buffer_ || has_groups || plan_.threads_share_panels) return false;
  return plan_.k_interleave == 1 && pixels().is_constant() && pixels().value() > 0 && pixels().value() < size_.rows;
}

// The number of accumulators for each element: the power of two with which the largest tile has as many accumulators as
// the machine keeps in flight, limited by the registers and by the unroll factor of K. Smaller tiles have the same
// number, so that all elements of the result are summed in the same order: equal columns of weights give equal results.
// With few K indices the additions at the end would cost more than is saved.
int64_t ContractionTile::accumulators_of_element() const {
  if (k_loops_.k_in(k_loops_.all()) < machine_.min_k_of_split_sums || !pixels().is_constant()) return 1;
  const RegisterTile largest = {std::min(size_.rows, pixels().value()),
                                std::min(size_.vectors, ceil_div(axis(plan_.n_axis).extent.value(), n_per_vector_))};
  const int64_t most = machine_.k_unroll / plan_.k_interleave;
  int64_t count = 1;
  while (largest.rows * largest.vectors * count < machine_.accumulators_in_flight && 2 * count <= most &&
         fits_registers(machine_, largest, 2 * count, plan_.k_interleave, plan_.byte_products))
    count *= 2;
  return count;
}

// ---- elements of a tile

// Values of the stage's axes in expressions that depend on the pixel only. N has its first index in the panel, as all N
// indices of a panel are in the same group.
Substitution ContractionTile::pixels_in(const TilePosition& at, const Tile& t, const Vars& vars) const {
  Substitution pixels;
  if (x_axis() >= 0) pixels[axis(x_axis()).var] = t.left + vars.x;
  if (y_axis() >= 0) pixels[axis(y_axis()).var] = t.top + vars.y;
  pixels[n_] = at.panel_base;
  return pixels;
}

// Values of the stage's axes for an element of the tile; a vector has `n_per_vector` N indices.
Substitution ContractionTile::elements_in(const TilePosition& at, const Tile& t, const Vars& vars,
                                          int64_t n_per_vector) const {
  Substitution all = pixels_in(at, t, vars);
  Expr in_vector = n_per_vector == lanes_ ? Expr(vars.lane) : floor_div(vars.lane, Expr(lanes_ / n_per_vector));
  all[n_] = at.panel_base + Expr(at.offset) + Expr(vars.v) * Expr(n_per_vector) + in_vector;
  return all;
}

std::vector<Expr> ContractionTile::result_index(const TilePosition& at, const Tile& t, const Vars& vars) const {
  Substitution elements = elements_in(at, t, vars, lanes_);
  std::vector<Expr> index;
  for (const Axis& a : stage_.axes) index.push_back(substitute(Expr(a.var), elements));
  return index;
}

Stmt ContractionTile::each_element(const TilePosition& at, const Tile& t, const Vars& vars, const Stmt& body) const {
  Stmt lanes = for_loop(vars.lane, lanes_, LoopKind::vector, body);
  return each_pixel(t, vars.y, vars.x, LoopKind::unrolled, for_loop(vars.v, at.vectors, LoopKind::unrolled, lanes));
}

Buffer ContractionTile::accumulators(const TilePosition& at, const Tile& t) const {
  return make_buffer("acc", stage_.results[0]->type, {t.tall, t.wide, at.vectors, lanes_}, Scope::reg);
}

Buffer ContractionTile::totals(const TilePosition& at, int64_t tall, int64_t wide) const {
  return make_buffer("total", stage_.results[0]->type, {tall, wide, at.vectors * lanes_}, Scope::local,
                     storage_alignment);
}

std::vector<Expr> ContractionTile::in_total(const Vars& vars, const Expr& top, const Expr& left) const {
  return {top + vars.y, left + vars.x, Expr(vars.v) * Expr(lanes_) + Expr(vars.lane)};
}

// ---- sums

Stmt ContractionTile::in_registers(const TilePosition& at, const Tile& t, const WeightWords* words) const {
  Buffer acc = accumulators(at, t);
  Stmt all_k = sums(
      at, t, k_loops_.all(), acc, [&](const KChunk& c) { return prefetch_next_results(at, t, c); }, words);
  if (plan_.lanes_of_n() == 1) {
    auto value = [&](const std::vector<Expr>& element) { return load(acc, element); };
    return allocate(acc, sequence({all_k, store_tile(at, t, value, words)}));
  }
  // K-interleaving: an N index has several lanes, which are stored to `total` and added from there.
  Buffer total = totals(at, t.tall, t.wide);
  Vars vars;
  Stmt keep = each_element(at, t, vars, store(total, in_total(vars, Expr(0), Expr(0)), load(acc, vars.element())));
  Stmt kept = allocate(acc, sequence({all_k, keep}));
  return allocate(total, sequence({kept, store_tile(at, t, total, Expr(0), Expr(0))}));
}

Stmt ContractionTile::add_partial_sums(const TilePosition& at, const Tile& t, const KRange& range, const Buffer& total,
                                       const WeightWords* words) const {
  Buffer acc = accumulators(at, t);
  Vars vars;
  std::vector<Expr> to = in_total(vars, t.top_here, t.left_here);
  Stmt add = each_element(at, t, vars, store(total, to, load(total, to) + load(acc, vars.element())));
  return allocate(acc, sequence({sums(
                                     at, t, range, acc, [](const KChunk&) { return nullptr; }, words),
                                 add}));
}

// Sets the accumulators to the sums over a range of K.
Stmt ContractionTile::sums(const TilePosition& at, const Tile& t, const KRange& range, const Buffer& acc,
                           const std::function<Stmt(const KChunk&)>& before_chunk, const WeightWords* words) const {
  Vars vars;
  Substitution pixels = pixels_in(at, t, vars);
  Expr product =
      substitute(data_value(), pixels) * substitute(weights_value(), elements_in(at, t, vars, n_per_vector_));
  if (plan_.lanes_of_n() > 1) {
    const Var& k = stage_.reduction->axes[static_cast<size_t>(plan_.blocked_k)].var;
    product = substitute(product, {{k, Expr(k) + floor_mod(vars.lane, Expr(plan_.k_interleave))}});
  }
  const int64_t count = accumulators_of_element_;
  KLoopHooks hooks;
  Buffer to = acc;
  if (count > 1) {
    hooks.k_in_block = make_var("k");
    to = make_buffer("partial", acc->type, {t.tall, t.wide, at.vectors, count, lanes_}, Scope::reg);
  }
  auto partial = [&](const Expr& k) {
    std::vector<Expr> e = vars.element();
    if (count > 1) e.insert(e.end() - 1, k);
    return e;
  };
  std::vector<Expr> in_turn = partial(count > 1 ? floor_mod(hooks.k_in_block, Expr(count)) : Expr(0));
  const Expr sum = words                 ? load(to, in_turn) + inner_products(*words, vars, pixels)
                   : plan_.byte_products ? load(to, in_turn) + neighbouring_products(product)
                                         : multiply_add(product, load(to, in_turn), machine_);
  Stmt add = each_element(at, t, vars, store(to, in_turn, sum));
  const Buffer in_words = widens_data() ? widened(t) : nullptr;
  if (in_words) {
    hooks.k_in_chunk = make_var("k");
    const Expr weights = substitute(weights_value(), elements_in(at, t, vars, n_per_vector_));
    const Expr products = widened_products(in_words, vars, weights, hooks.k_in_chunk);
    hooks.chunk_body = each_element(at, t, vars, store(to, in_turn, load(to, in_turn) + products));
  }
  hooks.before_chunk = [&](const KChunk& chunk) {
    Stmt next_data = each_pixel(t, vars.y, vars.x, LoopKind::unrolled, prefetch_next_data(at, pixels));
    if (words) return sequence({before_chunk(chunk), prefetch_next_weights(at, t, range, chunk, Expr())});
    return sequence({before_chunk(chunk), prefetch_next_weights(at, t, range, chunk, Expr()), next_data,
                     in_words && k_loops_.is_whole(chunk) ? widen_data(in_words, t, vars, pixels) : nullptr});
  };
  hooks.before_unrolled_block = [&](const KChunk& chunk, const Expr& unrolled_block) {
    return prefetch_next_weights(at, t, range, chunk, unrolled_block);
  };
  hooks.is_outer = [&](size_t axis) { return has_padding(axis); };
  hooks.tap_condition = [&](size_t axis) { return tap_condition(axis, t); };
  std::vector<Stmt> init;
  std::vector<Expr> partial_sums;
  for (int64_t k = 0; k < count; ++k) {
    init.push_back(each_element(at, t, vars, store(to, partial(Expr(k)), literal(acc->type, int64_t{0}))));
    partial_sums.push_back(load(to, partial(Expr(k))));
  }
  Stmt all_k = k_loops_.loops(add, range, hooks);
  if (in_words) all_k = allocate(in_words, all_k);
  all_k = sequence({sequence(std::move(init)), all_k});
  if (count == 1) return all_k;
  Stmt add_up = each_element(at, t, vars, store(acc, vars.element(), sum_in_pairs(std::move(partial_sums))));
  return allocate(to, sequence({all_k, add_up}));
}

// ---- taps that read padding

void ContractionTile::find_padding() {
  tap_axes_ = tap_axes(plan_.contraction.data, stage_);
  for (const TapAxis& a : tap_axes_) {
    const bool is_tiled = a.pixel == y_axis() || a.pixel == x_axis();
    std::vector<double>& shares = shares_left_out_.emplace_back();
    for (int64_t count = 1; count <= (is_tiled ? size_.rows : 1); ++count) {
      const double share = share_of_padding(a, stage_, count);
      shares.push_back(share >= machine_.min_share_of_padding ? share : 0);
    }
  }
}

double ContractionTile::share_left_out(size_t tap_axis, int64_t tall, int64_t wide) const {
  const int pixel = tap_axes_[tap_axis].pixel;
  const int64_t count = pixel == y_axis() ? tall : pixel == x_axis() ? wide : 1;
  return shares_left_out_[tap_axis].at(static_cast<size_t>(count - 1));
}

ShareOfK ContractionTile::share_of_k() const {
  if (tap_axes_.empty()) return nullptr;
  return [this](int64_t tall, int64_t wide) {
    double share = 1;
    for (size_t k = 0; k < tap_axes_.size(); ++k) share *= 1 - share_left_out(k, tall, wide);
    return share;
  };
}

// Whether tiles of one pixel leave out taps of the reduced axis. The loops over such axes are outermost, so that a
// branch is for as many K indices as possible, also in tiles that leave out none: all elements are added in the same
// order.
bool ContractionTile::has_padding(size_t reduced_axis) const {
  for (size_t k = 0; k < tap_axes_.size(); ++k)
    if (tap_axes_[k].tap == reduced_axis && share_left_out(k, 1, 1) > 0) return true;
  return false;
}

// The condition under which a tap of the reduced axis reads the image for some pixel of the tile. Null if no tap is
// left out.
Expr ContractionTile::tap_condition(size_t reduced_axis, const Tile& t) const {
  for (size_t k = 0; k < tap_axes_.size(); ++k) {
    const TapAxis& a = tap_axes_[k];
    if (a.tap != reduced_axis || share_left_out(k, t.tall, t.wide) == 0) continue;
    if (a.pixel == y_axis()) return reads_data(a, stage_, t.top, t.tall);
    if (a.pixel == x_axis()) return reads_data(a, stage_, t.left, t.wide);
    return reads_data(a, stage_, Expr(axis(a.pixel).var), 1);
  }
  return {};
}

// ---- factors

// The two factors of a product, read from the copy or the packed panel if there is one.
Expr ContractionTile::data_value() const {
  // The halo of the copy holds the padding, so that reads of it need no predicate. Of zeros, apply_layouts knows that;
  // loads whose padding is another number have no `otherwise`.
  const bool is_filled = plan_.fill && !is_literal(plan_.fill, 0);
  return with_loads_of(plan_.contraction.data.buffer, data_factor_, [&](const Load& l) {
    const Buffer& copy = data_copy();
    if (!copy) return Expr();
    const bool may_be_outside = !is_filled && l.otherwise;
    return load(copy, in_copy(l.indices), may_be_outside ? simplify(cast(copy->type, l.otherwise)) : Expr());
  });
}
Expr ContractionTile::weights_value() const {
  return with_loads_of(plan_.contraction.weights.buffer, weights_factor_, [&](const Load& l) {
    return plan_.panels ? load(plan_.panels, physical_index(plan_.weights_layout, l.indices)) : Expr();
  });
}

// The index in the data's copy of the element with this index in the data.
std::vector<Expr> ContractionTile::in_copy(std::vector<Expr> index) const {
  if (plan_.rows_dim >= 0) {
    Expr& row = index[static_cast<size_t>(plan_.rows_dim)];
    row = row - plan_.first_row;
  }
  for (size_t d = 0; d < index.size(); ++d) index[d] = simplify(floor_div(index[d], Expr(plan_.data_strides[d])));
  return index;
}

// ---- prefetching

// Prefetches the data of the same tap in the next K block. It is far from this block's data, so that no hardware
// prefetcher loads it. Null if the instructions cost more than they save: the first-level cache keeps most of the data,
// there are few K blocks, or the tile has a single vector and is limited by loads already.
Stmt ContractionTile::prefetch_next_data(const TilePosition& at, const Substitution& pixels) const {
  const Load& data = plan_.contraction.data;
  bool is_large = is_larger(data_read(), machine_.prefetch_threshold());
  bool inside = !data.otherwise || data_copy();
  bool several = k_loops_.blocks() >= machine_.min_k_blocks_to_prefetch && at.vectors >= 2;
  if (plan_.blocked_k < 0 || !several || !is_large || !inside || machine_.prefetch_streams == 0) return nullptr;
  const Var& channel = stage_.reduction->axes[static_cast<size_t>(plan_.blocked_k)].var;
  Substitution next = {{channel, Expr(channel) + Expr(plan_.k_block)}};
  std::vector<Expr> index;
  for (const Expr& i : data.indices) index.push_back(substitute(substitute(i, next), pixels));
  return make_stmt(Prefetch{data_read(), data_copy() ? in_copy(index) : index});
}

// Prefetches the tile's share of KLoops::next_weights. `unrolled_block` as in prefetched_lines. A tile that spans
// several panels prefetches nothing: the hardware prefetchers follow each of its panels.
Stmt ContractionTile::prefetch_next_weights(const TilePosition& at, const Tile& t, const KRange& range,
                                            const KChunk& chunk, const Expr& unrolled_block) const {
  const bool is_one_of_many = is_static(last_stage().results[0]->shape);  // else the number of tiles is not known
  const bool spans_panels = n() > plan_.panel_width;
  if (at.offset != 0 || !plan_.panels || spans_panels || !is_one_of_many) return nullptr;
  int64_t per_line = line_bits() / bits(plan_.panels->type);
  int64_t lines = ceil_div(k_loops_.k_in(range) * plan_.panel_width, per_line);
  auto [in_next_panel, begin] = k_loops_.next_weights(range);
  begin[n_] = at.panel_base + Expr(in_next_panel ? plan_.panel_width : 0);
  std::vector<Expr> next;
  for (const Expr& i : plan_.contraction.weights.indices) next.push_back(substitute(i, begin));
  next = physical_index(plan_.weights_layout, next);
  std::vector<Stmt> hints;
  for (const Expr& line : prefetched_lines(lines, t.number, t.count, chunk, unrolled_block, machine_)) {
    std::vector<Expr> index = next;
    index.back() = index.back() + line * Expr(per_line);
    hints.push_back(make_stmt(Prefetch{plan_.panels, std::move(index), CacheLevel::second}));
  }
  return sequence(std::move(hints));
}

// Prefetches the operands that the epilogue of the next tile reads at its own index; without such operands, the cache
// lines of the next tile's results. Only tensors that are too large for the cache are prefetched. Each chunk prefetches
// a share of the tile's pixels.
Stmt ContractionTile::prefetch_next_results(const TilePosition& at, const Tile& t, const KChunk& chunk) const {
  if (machine_.prefetch_streams == 0) return nullptr;
  std::vector<Buffer> streamed = streamed_operands();
  const Buffer& result = last_stage().results[0];
  if (streamed.empty() && !in_line_buffer_ && is_larger(result, machine_.l2_bytes)) streamed = {result};
  if (streamed.empty()) return nullptr;
  Vars vars;
  Tile next = t;
  next.top = t.next_top, next.left = t.next_left;
  int64_t of_chunk = ceil_div(t.wide, chunk.count);
  Expr first =
      t.wide >= chunk.count ? chunk.number * Expr(of_chunk) : floor_div(chunk.number * Expr(t.wide), Expr(chunk.count));
  int64_t vectors = std::max<int64_t>(line_bits() / (lanes_ * bits(result->type)), 1);  // of a cache line
  std::vector<Expr> index;
  for (const Expr& i : result_index(at, next, vars))
    index.push_back(
        substitute(i, {{vars.lane, Expr(0)}, {vars.x, first + vars.x}, {vars.v, Expr(vars.v) * Expr(vectors)}}));
  std::vector<Stmt> hints;
  for (const Buffer& b : streamed) hints.push_back(make_stmt(Prefetch{b, index}));
  next.wide = of_chunk;
  Stmt lines = for_loop(vars.v, ceil_div(at.n, lanes_ * vectors), LoopKind::unrolled, sequence(std::move(hints)));
  return each_pixel(next, vars.y, vars.x, LoopKind::unrolled, lines);
}

std::vector<Buffer> ContractionTile::streamed_operands() const {
  if (plan_.contraction.epilogue < 0) return {};
  const Stage& last = last_stage();
  std::vector<Buffer> found;
  for (const Buffer& b : plan_.function.params)
    if (is_larger(b, machine_.l2_reuse_limit()) && b->rank() == last.results[0]->rank() &&
        reads_at_own_index(last, b.get()) && reads(last.values[0], b))
      found.push_back(b);
  return found;
}

// ---- results

Stmt ContractionTile::store_tile(const TilePosition& at, const Tile& t, const Buffer& total, const Expr& top,
                                 const Expr& left, const WeightWords* words) const {
  auto value = [&](const std::vector<Expr>& e) {
    Expr first = (e[2] * Expr(lanes_) + e[3]) * Expr(plan_.lanes_of_n()), sum;
    for (int64_t k = 0; k < plan_.lanes_of_n(); ++k) {
      Expr lane = load(total, {top + e[0], left + e[1], first + Expr(k)});
      sum = sum ? sum + lane : lane;
    }
    return sum;
  };
  return store_tile(at, t, value, words);
}

// Stores the epilogue's results of the tile; value(element) is the sum of an element.
Stmt ContractionTile::store_tile(const TilePosition& at, const Tile& t,
                                 const std::function<Expr(const std::vector<Expr>&)>& sum,
                                 const WeightWords* words) const {
  Vars vars;
  auto value = [&](const std::vector<Expr>& element) {
    return words ? without_products_of_neighbours(sum(element), *words, element, pixels_in(at, t, vars)) : sum(element);
  };
  std::vector<Expr> index = result_index(at, t, vars);
  // Vectors outermost: blocked results store the pixels of a vector next to each other.
  auto vectors = [&](LoopKind kind, const Stmt& body, int64_t first, int64_t count, int64_t lanes) -> Stmt {
    if (count <= 0 || lanes <= 0) return nullptr;
    Var v = make_var("v");
    Stmt s = for_loop(vars.lane, lanes, LoopKind::vector, substitute(body, {{vars.v, Expr(v) + Expr(first)}}));
    return for_loop(v, count, kind, each_pixel(t, vars.y, vars.x, kind, s));
  };
  auto all = [&](LoopKind kind, const Stmt& body) {
    int64_t whole = at.n / lanes_;
    return sequence({vectors(kind, body, 0, whole, lanes_), vectors(kind, body, whole, 1, at.n % lanes_)});
  };
  return sequence({all(LoopKind::unrolled, epilogue_.store_total(value(vars.element()), index)),
                   epilogue_.has_finish() ? all(LoopKind::serial, epilogue_.finish(index)) : nullptr});
}

}  // namespace dlcc::tensor
