// The decisions about a contraction that all machines share: the roles of its axes, the packing of weights, copies of
// data.
#include <algorithm>

#include "tensor/byte_products.h"
#include "tensor/index_facts.h"
#include "tensor/layout.h"
#include "tensor/schedules/contraction.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/tap_axes.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class ContractionPlanner {
 public:
  ContractionPlanner(const TensorFunction& f, const std::vector<Layout>& layouts, const std::vector<bool>& constant,
                     const ScheduleOptions& options, const Machine& machine, const TuningConfig& config,
                     bool whole_blocks)
      : f_(f),
        layouts_(layouts),
        constant_(constant),
        options_(options),
        machine_(machine),
        config_(config),
        whole_blocks_(whole_blocks) {}

  std::optional<ContractionPlan> run() {
    auto contraction = find_contraction(f_, constant_);
    if (!contraction) return std::nullopt;
    // The rounding error of a float32 sum grows with the number of its terms. For 256 terms it is at most 2^-16 of the
    // sum of their magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2).
    constexpr int64_t strict_k_per_accumulator = 256;
    plan_ = {.function = f_,
             .contraction = *contraction,
             .threads_share_panels = options_.threads > 1,
             .k_per_accumulator = options_.strict ? strict_k_per_accumulator : 0};
    if (!has_static_weights() || !choose_axes() || !find_n_dim() || prefers_dot_products()) return std::nullopt;
    pad_data();
    gather_pixels();
    copy_into_blocks();
    find_blocked_k();
    if (!find_byte_products() && !whole_blocks_) interleave_k();
    pack_weights();
    return plan_;
  }

 private:
  const Stage& stage() const { return f_.stages[0]; }
  const Load& data() const { return plan_.contraction.data; }
  const Load& weights() const { return plan_.contraction.weights; }
  int64_t extent(int axis) const { return stage().axes[static_cast<size_t>(axis)].extent.value(); }

  const Layout& layout_of(const Buffer& b) const {
    for (size_t k = 0; k < f_.params.size(); ++k)
      if (f_.params[k] == b) return layouts_[k];
    return layouts_[f_.params.size()];
  }
  bool is_constant(const Buffer& b) const {
    for (size_t k = 0; k < f_.params.size(); ++k)
      if (f_.params[k] == b) return constant_[k];
    return false;
  }

  // Whether all axes of the weights, and with them K, have constant extents. Only the axes of pixels (M) may be
  // symbolic.
  bool has_static_weights() const {
    auto is_number = [](const Axis& a) { return a.extent.is_constant(); };
    return is_static(weights().buffer->shape) && std::ranges::all_of(stage().reduction->axes, is_number) &&
           std::ranges::all_of(stage().axes, [&](const Axis& a) { return is_number(a) || !uses(weights(), a.var); });
  }

  bool choose_axes() {
    const Layout& result = layouts_[f_.params.size()];
    int64_t group = 0;
    for (size_t k = 0; k < stage().axes.size(); ++k) {
      const Var& v = stage().axes[k].var;
      int axis = static_cast<int>(k);
      if (!uses(weights(), v)) continue;
      int64_t q = n_per_group(data(), v);
      if (q != 0 && q % channel_block != 0) continue;
      bool innermost = !result.is_dense() && result.parts.back().axis == axis;
      if (plan_.n_axis < 0 || innermost || result.is_dense()) {
        plan_.n_axis = axis;
        group = q;
        if (innermost) break;
      }
    }
    if (plan_.n_axis < 0 || extent(plan_.n_axis) < machine_.min_n_of_contraction) return false;
    for (size_t k = 0; k < stage().axes.size(); ++k) {
      int axis = static_cast<int>(k);
      if (axis == plan_.n_axis) continue;
      (uses(weights(), stage().axes[k].var) ? plan_.batch_axes : plan_.m_axes).push_back(axis);
    }
    plan_.blocked_result = !result.is_dense() && result.parts.back().axis == plan_.n_axis &&
                           std::ranges::count(result.parts, plan_.n_axis, &Layout::Part::axis) > 1;
    plan_.pixels_share_cache_set = pixels_share_cache_set();
    choose_panel_width(group ? group : round_up(extent(plan_.n_axis), channel_block), group == 0);
    return true;
  }

  // The number of pixels: the product of the extents of the M axes.
  Dim extent_of_m() const {
    Dim m = 1;
    for (int axis : plan_.m_axes) m = m * stage().axes[static_cast<size_t>(axis)].extent;
    return m;
  }

  bool pixels_share_cache_set() const {
    const Buffer& b = data().buffer;
    if (plan_.m_axes.empty() || !layout_of(b).is_dense() || !is_static(b->shape)) return false;
    const Axis& pixel = stage().axes[static_cast<size_t>(plan_.m_axes.back())];
    if (provably_lt(pixel.extent, machine_.l1_ways)) return false;
    int64_t distance = 0;  // of neighbouring pixels, in elements
    for (size_t d = 0; d < b->shape.size(); ++d) {
      const auto stride = stride_along(data().indices[d], pixel.var);
      if (!stride) return false;
      distance = distance * b->shape[d].value() + *stride;
    }
    return distance != 0 && machine_.share_cache_set(distance * bits(b->type));
  }

  // Whether the register tile for panels of this width has at least as many pixels as a cache set has lines. The tile
  // then gets fewer pixels, which have more products per load in a wide panel.
  bool pixels_share_cache_set_in(int64_t panel_width) const {
    const int64_t lanes = std::min<int64_t>(machine_.lanes(bits(data().buffer->type)), channel_block);
    return plan_.pixels_share_cache_set && choose_register_tile(machine_, lanes, panel_width).rows >= machine_.l1_ways;
  }

  // Chooses the first of the machine's panel widths that divides N, or a wide panel if pixels share a cache set. If
  // threads share the panels, chooses the width for which the largest share of a thread is smallest.
  void choose_panel_width(int64_t n, bool may_end_within) {
    int64_t smallest = n + 1;
    const Dim m = extent_of_m();
    bool has_few_pixels = m.is_constant() && m.value() <= machine_.max_m_of_shared_panels;
    int64_t sharers = has_few_pixels ? options_.threads : 1;
    plan_.panel_width = may_end_within && n > machine_.max_n_of_exact_panels ? machine_.panel_widths[0] : channel_block;
    for (int64_t width : machine_.panel_widths) {
      int64_t share = ceil_div(n / width, sharers) * width;
      if (n % width != 0 || share >= smallest) continue;
      plan_.panel_width = width;
      smallest = share;
    }
    if (const int64_t wide = 2 * machine_.panel_widths[0];
        n % wide == 0 && pixels_share_cache_set_in(plan_.panel_width))
      plan_.panel_width = wide;
    if (auto width = config_.panel_width; width && (may_end_within ? *width <= n : n % *width == 0))
      plan_.panel_width = *width;
  }

  // Finds the dimension of the weights whose index is the N axis; false unless exactly one has it.
  bool find_n_dim() {
    n_dim_ = dimension_along(weights(), stage().axes[static_cast<size_t>(plan_.n_axis)].var).value_or(-1);
    return n_dim_ >= 0 && !weights().otherwise;
  }

  // Whether there are so few pixels that packing run-time weights takes longer than the generic schedule, which
  // computes dot products of both factors as they are stored.
  bool prefers_dot_products() const {
    auto has_rows_of_k = [&](const Load& l) {
      return is_var(l.indices.back(), stage().reduction->axes.back().var) && layout_of(l.buffer).is_dense();
    };
    return !is_constant(weights().buffer) && provably_le(extent_of_m(), machine_.max_m_of_dot_products) &&
           has_rows_of_k(data()) && has_rows_of_k(weights());
  }

  void pad_data() {
    reads_inside_ = !data().otherwise;
    if (reads_inside_) return;
    plan_.fill = data().otherwise;
    const bool is_zero = is_literal(plan_.fill, 0);
    if (!is_zero && !constant_integer(plan_.fill)) return;
    const Layout& layout = layout_of(data().buffer);
    const Shape& shape = data().buffer->shape;
    const std::vector<Halo> read = halo_read(data(), stage());
    auto is_stored_in = [&](const Layout& l) {
      bool all = read.size() == shape.size();
      for (size_t d = 0; all && d < shape.size(); ++d) all = is_stored(l, static_cast<int>(d), shape[d], read[d]);
      return all;
    };
    const bool are_bytes = bits(data().buffer->type) == 8;
    if (read.size() != shape.size() || (machine_.memory_is_scarce && are_bytes && copy_rows(read))) return;
    if (!is_zero) return;
    Layout padded = with_halo(layout, shape, read);
    reads_inside_ = is_stored_in(padded);
    if (!reads_inside_ || is_stored_in(layout)) return;
    copy_data("padded", shape, std::move(padded), std::vector<int64_t>(shape.size(), 1));
  }

  // Plans a padded copy of the rows that one row of the result reads; false if the whole image must be copied. `read`
  // is the halo that all pixels together read. The image must be the only one, and the row index of the data must have
  // the form first row + a sum of reduced axes.
  bool copy_rows(std::vector<Halo> read) {
    Shape shape = data().buffer->shape;
    const Layout given = explicit_layout(layout_of(data().buffer), shape);
    const auto& axes = stage().axes;
    if (plan_.m_axes.size() < 2 || !plan_.batch_axes.empty() || !is_static(shape) || has_halo(given, shape) ||
        given.parts.size() != shape.size())
      return false;
    const std::vector<int>& m = plan_.m_axes;
    for (size_t k = 0; k < m.size(); ++k)
      if (const Dim& extent = axes[static_cast<size_t>(m[k])].extent;
          !extent.is_constant() || (k + 2 < m.size() && extent != Dim(1)))
        return false;
    const Var& y = axes[static_cast<size_t>(m[m.size() - 2])].var;
    auto uses_row = [&](const Expr& e) { return uses(e, y); };
    const std::vector<Expr>& indices = data().indices;
    const auto dim = static_cast<size_t>(std::ranges::find_if(indices, uses_row) - indices.begin());
    if (std::ranges::count_if(indices, uses_row) != 1 || std::cmp_equal(given.parts.back().axis, dim)) return false;
    Substitution first;
    for (const Axis& a : stage().reduction->axes) first[a.var] = Expr(0);
    const Expr begin = simplify(substitute(indices[dim], first)), in_rows = simplify(indices[dim] - begin);
    const auto rows = range_of(in_rows, ranges_of(stage()));
    if (!rows || rows->low != 0 || uses_row(in_rows)) return false;
    shape[dim] = Dim(rows->high + 1);
    read[dim] = {};
    Layout layout = given;
    for (Layout::Part& part : layout.parts)
      if (std::cmp_equal(part.axis, dim)) part.extent = shape[dim];
    copy_data("rows", shape, with_halo(std::move(layout), shape, read), std::vector<int64_t>(shape.size(), 1));
    plan_.rows_dim = static_cast<int>(dim), plan_.first_row = begin;
    return reads_inside_ = true;
  }

  // A 1x1 convolution with a stride reads pixels that are far from each other. Their cache lines fall into few cache
  // sets and are evicted before the next panel reads them. A copy stores these pixels next to each other.
  void gather_pixels() {
    if (plan_.data_copy || data().otherwise || extent(plan_.n_axis) < machine_.min_n_to_gather) return;
    Shape shape = data().buffer->shape;
    std::vector<int64_t> strides(shape.size(), 1);
    Layout layout = explicit_layout(layout_of(data().buffer), shape);
    for (int m : plan_.m_axes) {
      const Axis& axis = stage().axes[static_cast<size_t>(m)];
      for (size_t d = 0; d < shape.size(); ++d) {
        Expr index = simplify(data().indices[d], ranges_of(stage()));
        if (!uses(index, axis.var)) continue;
        strides[d] = multiple_of(index, axis.var).value_or(0);
        if (strides[d] < 1) return;
        if (strides[d] > 1) shape[d] = axis.extent;
      }
    }
    if (std::ranges::all_of(strides, [](int64_t s) { return s == 1; })) return;
    for (Layout::Part& part : layout.parts) {
      auto d = static_cast<size_t>(part.axis);
      if (std::ranges::count(layout.parts, part.axis, &Layout::Part::axis) == 1)
        part = {part.axis, 1, shape[d]};
      else if (strides[d] > 1)
        return;
    }
    copy_data("pixels", shape, normalized(layout, shape), strides);
  }

  // The factor c of an index c * v; empty for any other index.
  static std::optional<int64_t> multiple_of(const Expr& index, const Var& v) {
    auto factor = constant_integer(simplify(substitute(index, {{v, Expr(1)}})));
    bool is_multiple = factor && structurally_equal(index, simplify(Expr(v) * Expr(*factor)));
    return is_multiple ? factor : std::nullopt;
  }

  void copy_data(const char* name, const Shape& shape, Layout layout, std::vector<int64_t> strides) {
    plan_.data_copy = make_buffer(name, data().buffer->type, shape, Scope::global, storage_alignment);
    plan_.data_layout = std::move(layout);
    plan_.data_strides = std::move(strides);
  }

  // Finds the reduced axis, such as the input channels, that the data stores in blocks. The loop over blocks becomes
  // the outermost loop over K, the loop over the channels of a block the innermost. Each group of a grouped convolution
  // must begin with a block. Channels that are stored last are one block.
  void find_blocked_k() {
    const Layout& layout = plan_.data_copy ? plan_.data_layout : layout_of(data().buffer);
    const Ranges ranges = ranges_of(stage());
    const auto& reduced = stage().reduction->axes;
    if (const int last = layout.is_dense() ? data().buffer->rank() - 1 : layout.parts.back().axis;
        last + 1 < data().buffer->rank() && std::ranges::count(layout.parts, last, &Layout::Part::axis) == 1) {
      const Expr& index = data().indices[static_cast<size_t>(last)];
      for (size_t k = 0; k < reduced.size(); ++k)
        if (const Var& v = reduced[k].var; uses(index, v) && !uses(simplify(index - Expr(v)), v))
          plan_.blocked_k = static_cast<int>(k), plan_.k_block = std::max<int64_t>(reduced[k].extent.value(), 1);
    }
    for (const Layout::Part& part : layout.parts) {
      if (part.divisor == 1) continue;
      const Expr& index = data().indices[static_cast<size_t>(part.axis)];
      for (size_t k = 0; k < reduced.size(); ++k) {
        Expr begin = simplify(index - Expr(reduced[k].var));
        Expr in_block = simplify(floor_mod(begin, Expr(part.divisor)), ranges);
        bool whole = constant_integer(in_block) == 0 && !uses(begin, reduced[k].var);
        if (is_var(index, reduced[k].var) || (whole && reduced[k].extent.value() % part.divisor == 0)) {
          plan_.blocked_k = static_cast<int>(k);
          plan_.k_block = part.divisor;
        }
      }
    }
  }

  bool multiplies_bytes() const {
    const Binary& product = *as<Binary>(stage().values[0]);
    const bool are_bytes = data().buffer->type == data_of_byte_products(machine_.byte_products) &&
                           weights().buffer->type == dtype::i8 && product.a.type() == dtype::i32 &&
                           as<Cast>(product.a) && as<Cast>(product.b);
    return are_bytes && machine_.byte_products != ByteProducts::none;
  }

  // A dense image stores the channels of a pixel far from each other. If the channels fill whole blocks, a copy stores
  // them in blocks: of bytes, so that dot products of bytes can be used; of floats, where blocks save products.
  void copy_into_blocks() {
    const Shape& shape = data().buffer->shape;
    const bool gathers = std::ranges::any_of(plan_.data_strides, [](int64_t s) { return s != 1; });
    if (!(multiplies_bytes() || blocks_save_products()) || !is_constant(weights().buffer)) return;
    if (!reads_inside_ || gathers || data().indices.size() < 3) return;
    if (!normalized(layout_of(data().buffer), shape).is_dense()) return;
    const Axis& channels = stage().reduction->axes[0];
    constexpr int channel_dim = 1;
    const bool in_blocks = channels.extent.value() % channel_block == 0 &&
                           uses(data().indices[channel_dim], channels.var) && shape[channel_dim].is_constant() &&
                           shape[channel_dim].value() % channel_block == 0;
    if (!in_blocks || extent(plan_.n_axis) < channel_block) return;
    Layout blocks = blocked_layout(shape, channel_dim, channel_block, Layout::Tail::zero);
    plan_.fill = data().otherwise;
    if (data().otherwise) blocks = with_halo(std::move(blocks), shape, halo_read(data(), stage()));
    copy_data("blocks", shape, std::move(blocks), std::vector<int64_t>(shape.size(), 1));
  }

  // Whether a copy of an image of floats in channel blocks saves more products than it costs. With the channels of a
  // block innermost, columns of taps that read padding are left out, too; the weights are read in the order in which
  // they are stored, also if rows of taps are outermost; and pairs of channels can be interleaved.
  bool blocks_save_products() const {
    const Shape& shape = data().buffer->shape;
    if (!is_static(shape) || !is_float(data().buffer->type)) return false;
    double products = 1;  // for each element of the image and vector of N
    for (const Axis& a : stage().axes) products *= static_cast<double>(a.extent.value());
    for (const Axis& a : stage().reduction->axes) products *= static_cast<double>(a.extent.value());
    products /= static_cast<double>(product(shape).value() * channel_block);
    double kept = 1;
    for (const TapAxis& a : tap_axes(data(), stage()))
      if (const double share = share_of_padding(a, stage(), 1); share >= machine_.min_share_of_padding)
        kept *= 1 - share;
    if (const int64_t halves = half_blocks_to_interleave(); halves > 0)
      kept *= static_cast<double>(halves) / static_cast<double>(halves + 1);
    return products * (1 - kept) >= machine_.block_copy_cost;
  }

  // Selects dot products of bytes for products of the machine's type of data and signed weights in int32. The data must
  // store neighbours along K next to each other, and the weights must be packable in the same order.
  bool find_byte_products() {
    if (!multiplies_bytes() || !reads_inside_) return false;
    const auto& reduced = stage().reduction->axes;
    const Axis& k = plan_.blocked_k >= 0 ? reduced[static_cast<size_t>(plan_.blocked_k)] : reduced.back();
    const bool divides_blocks = plan_.blocked_k < 0 || plan_.k_block % least_bytes_of_product == 0;
    if (!divides_blocks || k.extent.value() % least_bytes_of_product != 0 || !reads_in_a_row(k.var)) return false;
    plan_.byte_products = true;
    plan_.k_interleave = bytes_of_product_in(machine_.byte_products, k.extent.value());
    if (is_scalar(machine_.byte_products)) plan_.panel_width = width_of_scalar_tile();
    return true;
  }

  // The N indices of a register tile without vectors, which are also the panel width. A wider panel would hold several
  // tiles, each with loops of its own, and more of the last panel would be wasted.
  int64_t width_of_scalar_tile() const {
    const int64_t max_rows = extent_of_m().constant().value_or(std::numeric_limits<int64_t>::max());
    return choose_register_tile(machine_, 1, channel_block, plan_.k_interleave, true, max_rows).vectors;
  }

  // Whether neighbours along this reduced axis are neighbours in the data's storage, and the axis is a dimension of the
  // weights.
  bool reads_in_a_row(const Var& k) const {
    const Layout layout = explicit_layout(plan_.data_copy ? plan_.data_layout : layout_of(data().buffer),
                                          plan_.data_copy ? plan_.data_copy->shape : data().buffer->shape);
    const Layout::Part& last = layout.parts.back();
    for (size_t d = 0; d < data().indices.size(); ++d) {
      const bool along = std::cmp_equal(d, last.axis);
      const Expr rest = along ? simplify(data().indices[d] - Expr(k)) : data().indices[d];
      if (uses(rest, k) || (along && !plan_.data_strides.empty() && plan_.data_strides[d] != 1)) return false;
    }
    const auto of_k = std::ranges::count_if(weights().indices, [&](const Expr& i) { return uses(i, k); });
    return last.divisor == 1 && of_k == 1 &&
           std::ranges::any_of(weights().indices, [&](const Expr& i) { return is_var(i, k); });
  }

  // The number of half channel blocks of N if it is odd and small, so that K-interleaving in pairs wastes fewer lanes;
  // else 0. With a larger N, panels would end within blocks of the result.
  int64_t half_blocks_to_interleave() const {
    int64_t k = 1;
    for (const Axis& a : stage().reduction->axes) k *= a.extent.value();
    const bool grouped = uses(data(), stage().axes[static_cast<size_t>(plan_.n_axis)].var);
    const int64_t halves = ceil_div(extent(plan_.n_axis), channel_block / 2);
    const bool is_small = halves % 2 == 1 && halves <= machine_.max_half_blocks_to_interleave;
    return is_small && !grouped && k >= machine_.min_k_to_interleave && !config_.panel_width ? halves : 0;
  }

  // Selects K-interleaved packing in pairs if N is small and ends with half a channel block. The data's blocks must
  // have an even number of K indices, so that a pair is one load.
  void interleave_k() {
    constexpr int64_t pair = 2;
    const auto& reduced = stage().reduction->axes;
    bool pairs = plan_.blocked_k >= 0 && plan_.k_block % pair == 0 &&
                 reduced[static_cast<size_t>(plan_.blocked_k)].extent.value() % pair == 0;
    pairs &= machine_.lanes(bits(stage().results[0]->type)) >= pair;
    if (!pairs || !reads_inside_ || !is_constant(weights().buffer)) return;
    const int64_t half = channel_block / pair, halves = half_blocks_to_interleave();
    if (halves == 0) return;
    // A tile with one vector of N needs a load for each product; a wider tile without interleaving is faster.
    int64_t n_per_vector = std::min<int64_t>(machine_.lanes(bits(weights().buffer->type)), channel_block) / pair;
    if (halves > 1 && choose_register_tile(machine_, n_per_vector, halves * half, pair).vectors == 1) return;
    plan_.k_interleave = pair;
    plan_.panel_width = halves * half;
  }

  // Whether run-time weights are read as they are stored. Vectors of N must be contiguous in them. The rows of a large
  // matrix are in different pages, so that reading a panel of it misses the TLB; packing it takes as long as the
  // products of some rows (M).
  bool reads_in_place() const {
    const Buffer& b = weights().buffer;
    if (plan_.byte_products || n_dim_ + 1 != b->rank() || !layout_of(b).is_dense()) return false;
    const int64_t n = b->shape.back().value();
    if (!extent_of_m().is_constant()) return n % channel_block == 0;
    int64_t elements = n;  // of one product
    for (const Axis& k : stage().reduction->axes) elements *= k.extent.value();
    return elements * bits(b->type) / 8 <= machine_.l2_budget() ||
           provably_le(extent_of_m(), machine_.max_m_of_weights_in_place);
  }

  // [dimensions without reduced axes] [N / panel_width] [K blocks, taps] [channels of a block] [panel_width], and with
  // K-interleaving [channels of a block / k_interleave] [panel_width] [k_interleave]; byte products interleave K
  // whatever the layout of the data is.
  void pack_weights() {
    const Shape& shape = weights().buffer->shape;
    const auto& reduced = stage().reduction->axes;
    auto k_axis_of = [&](size_t d) {
      for (size_t k = 0; k < reduced.size(); ++k)
        if (uses(weights().indices[d], reduced[k].var)) return static_cast<int>(k);
      return -1;
    };
    std::vector<Layout::Part> without_k, blocks_and_taps, in_block, interleaved;
    for (size_t d = 0; d < shape.size(); ++d) {
      int axis = static_cast<int>(d);
      int64_t size = shape[d].value();
      if (axis == n_dim_) continue;
      int k = k_axis_of(d);
      bool blocked =
          k >= 0 && k == plan_.blocked_k && is_var(weights().indices[d], reduced[static_cast<size_t>(k)].var);
      if (k < 0) {
        without_k.push_back({axis, 1, size});
      } else if (blocked) {
        blocks_and_taps.insert(blocks_and_taps.begin(), {axis, plan_.k_block, ceil_div(size, plan_.k_block)});
        if (plan_.k_block > plan_.k_interleave)
          in_block.push_back({axis, plan_.k_interleave, plan_.k_block / plan_.k_interleave});
        if (plan_.k_interleave > 1) interleaved.push_back({axis, 1, plan_.k_interleave});
      } else if (plan_.byte_products && plan_.blocked_k < 0 && std::cmp_equal(k + 1, reduced.size())) {
        blocks_and_taps.push_back({axis, plan_.k_interleave, size / plan_.k_interleave});
        interleaved.push_back({axis, 1, plan_.k_interleave});
      } else {
        blocks_and_taps.push_back({axis, 1, size});
      }
    }
    int64_t n = shape[static_cast<size_t>(n_dim_)].value();
    Layout& layout = plan_.weights_layout;
    layout.parts = without_k;
    layout.parts.push_back({n_dim_, plan_.panel_width, ceil_div(n, plan_.panel_width)});
    layout.parts.insert(layout.parts.end(), blocks_and_taps.begin(), blocks_and_taps.end());
    layout.parts.insert(layout.parts.end(), in_block.begin(), in_block.end());
    layout.parts.push_back({n_dim_, 1, plan_.panel_width});
    layout.parts.insert(layout.parts.end(), interleaved.begin(), interleaved.end());
    layout.tail = Layout::Tail::zero;
    plan_.packs_at_run_time = !is_constant(weights().buffer);
    if (plan_.packs_at_run_time && reads_in_place()) {
      layout = {};  // vectors of N are loaded as they are stored
      plan_.packs_at_run_time = false;
      return;
    }
    plan_.panels =
        make_buffer("panels", weights().buffer->type, physical_shape(layout, shape), Scope::global, storage_alignment);
  }

  const TensorFunction& f_;
  const std::vector<Layout>& layouts_;
  const std::vector<bool>& constant_;
  const ScheduleOptions& options_;
  const Machine& machine_;
  const TuningConfig& config_;
  bool whole_blocks_;
  ContractionPlan plan_;
  int n_dim_ = -1;
  bool reads_inside_ = false;  // no load needs a predicate: all are in the data's storage or its padded copy
};

}  // namespace

std::optional<ContractionPlan> plan_contraction(const TensorFunction& f, const std::vector<Layout>& layouts,
                                                const std::vector<bool>& constant, const ScheduleOptions& options,
                                                const Machine& machine, bool whole_blocks, const TuningConfig& config) {
  return ContractionPlanner(f, layouts, constant, options, machine, config, whole_blocks).run();
}

}  // namespace dlcc::tensor
