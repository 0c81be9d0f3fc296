// What all machines share of a contraction: the roles of its axes, how weights are packed, which copies are made.
#include <algorithm>

#include "tensor/layout.h"
#include "tensor/schedules/contraction.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Planner {
 public:
  Planner(const TensorFunction& f, const std::vector<Layout>& layouts, const std::vector<bool>& constant,
          const ScheduleOptions& options, const Machine& machine, const TuningConfig& config, bool whole_blocks)
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
    constexpr int64_t strict_terms = 256;
    plan_ = {.function = f_, .contraction = *contraction, .k_per_accumulator = options_.strict ? strict_terms : 0};
    if (!choose_axes() || !choose_weights_dimension()) return std::nullopt;
    pad_data();
    gather_pixels();
    find_blocked_term();
    if (!whole_blocks_) interleave_terms();
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
    if (plan_.n_axis < 0 || extent(plan_.n_axis) < 4) return false;
    for (size_t k = 0; k < stage().axes.size(); ++k) {
      int axis = static_cast<int>(k);
      if (axis == plan_.n_axis) continue;
      (uses(weights(), stage().axes[k].var) ? plan_.batch_axes : plan_.m_axes).push_back(axis);
    }
    plan_.blocked_result = !result.is_dense() && result.parts.back().axis == plan_.n_axis;
    choose_panel(group ? group : round_up(extent(plan_.n_axis), channel_block), group == 0);
    return true;
  }

  // Of the widths that make good register tiles, the first that divides the columns; where threads share nothing but
  // the panels, as those of an image of few tiles, the one whose longest share is shortest.
  void choose_panel(int64_t columns, bool may_end_within) {
    int64_t rows = 1, shortest = columns + 1;
    for (int axis : plan_.m_axes) rows *= extent(axis);
    int64_t sharers = rows > machine_.max_m_of_shared_panels ? 1 : options_.threads;
    // A panel need not divide the columns, when little of the last one is wasted.
    plan_.panel = may_end_within && columns > machine_.max_n_of_exact_panels ? machine_.panel_widths[0] : channel_block;
    for (int64_t panel : machine_.panel_widths) {
      int64_t share = ceil_div(columns / panel, sharers) * panel;
      if (columns % panel != 0 || share >= shortest) continue;
      plan_.panel = panel;
      shortest = share;
    }
    if (config_.panel_width && (may_end_within ? *config_.panel_width <= columns : columns % *config_.panel_width == 0))
      plan_.panel = *config_.panel_width;
  }

  // The one dimension of the weights that is the column axis itself.
  bool choose_weights_dimension() {
    const Var& column = stage().axes[static_cast<size_t>(plan_.n_axis)].var;
    column_dim_ = -1;
    for (size_t d = 0; d < weights().indices.size(); ++d) {
      if (is_var(weights().indices[d], column) && column_dim_ < 0)
        column_dim_ = static_cast<int>(d);
      else if (uses(weights().indices[d], column))
        return false;
    }
    return column_dim_ >= 0 && !weights().otherwise;
  }

  void pad_data() {
    reads_inside_ = !data().otherwise;
    if (reads_inside_ || !is_literal(data().otherwise, 0)) return;
    const Layout& layout = layout_of(data().buffer);
    std::vector<int64_t> shape = static_shape(data().buffer->shape);
    std::vector<Range> read = ranges_read(data(), ranges_of(stage()));
    auto is_stored_in = [&](const Layout& l) {
      bool all = read.size() == shape.size();
      for (size_t d = 0; all && d < shape.size(); ++d) all = is_stored(l, static_cast<int>(d), shape[d], read[d]);
      return all;
    };
    if (read.size() != shape.size()) return;
    Layout padded = with_halo(layout, shape, read);
    reads_inside_ = is_stored_in(padded);
    if (!reads_inside_ || is_stored_in(layout)) return;
    copy_data("padded", shape, std::move(padded), std::vector<int64_t>(shape.size(), 1));
  }

  // The pixels that a projection with strides reads lie far from each other, and their lines share few sets of the
  // caches. Next to each other they stay there while panels read them again; where these are few, copying takes longer.
  void gather_pixels() {
    if (plan_.data_copy || data().otherwise || extent(plan_.n_axis) < machine_.min_n_to_gather) return;
    std::vector<int64_t> shape = static_shape(data().buffer->shape), steps(shape.size(), 1);
    Layout layout = explicit_layout(layout_of(data().buffer), shape);
    for (int row : plan_.m_axes) {
      const Axis& axis = stage().axes[static_cast<size_t>(row)];
      for (size_t d = 0; d < shape.size(); ++d) {
        Expr index = simplify(data().indices[d], ranges_of(stage()));
        if (!uses(index, axis.var)) continue;
        steps[d] = multiple_of(index, axis.var).value_or(0);
        if (steps[d] < 1) return;
        if (steps[d] > 1) shape[d] = axis.extent.value();
      }
    }
    if (std::ranges::all_of(steps, [](int64_t s) { return s == 1; })) return;
    for (Layout::Part& part : layout.parts) {
      auto d = static_cast<size_t>(part.axis);
      if (std::ranges::count(layout.parts, part.axis, &Layout::Part::axis) == 1)
        part = {part.axis, 1, shape[d]};
      else if (steps[d] > 1)
        return;
    }
    copy_data("pixels", shape, normalized(layout, shape), steps);
  }

  // The factor, where the index is a multiple of the variable.
  static std::optional<int64_t> multiple_of(const Expr& index, const Var& v) {
    auto factor = constant_integer(simplify(substitute(index, {{v, Expr(1)}})));
    bool is_multiple = factor && structurally_equal(index, simplify(Expr(v) * Expr(*factor)));
    return is_multiple ? factor : std::nullopt;
  }

  void copy_data(const char* name, const std::vector<int64_t>& shape, Layout layout, std::vector<int64_t> steps) {
    plan_.data_copy = make_buffer(name, data().buffer->type, shape_of(shape), Scope::global, storage_alignment);
    plan_.data_layout = std::move(layout);
    plan_.data_steps = std::move(steps);
  }

  // The data's channels are stored in blocks: the reduction runs over blocks outermost, inside a block innermost. A
  // group of channels must begin with a block.
  void find_blocked_term() {
    const Layout& layout = plan_.data_copy ? plan_.data_layout : layout_of(data().buffer);
    const Ranges ranges = ranges_of(stage());
    for (const Layout::Part& part : layout.parts) {
      if (part.divisor == 1) continue;
      const Expr& index = data().indices[static_cast<size_t>(part.axis)];
      const auto& terms = stage().reduction->axes;
      for (size_t t = 0; t < terms.size(); ++t) {
        Expr begin = simplify(index - Expr(terms[t].var));
        Expr in_block = simplify(floor_mod(begin, Expr(part.divisor)), ranges);
        bool whole = constant_integer(in_block) == 0 && !uses(begin, terms[t].var);
        if (is_var(index, terms[t].var) || (whole && terms[t].extent.value() % part.divisor == 0)) {
          plan_.blocked_k = static_cast<int>(t);
          plan_.k_block = part.divisor;
        }
      }
    }
  }

  // Two terms to a vector, when the columns end with half a block and are few: more than one panel would end within a
  // block of the result. Blocks of the data hold pairs of terms, so that a pair is one load.
  void interleave_terms() {
    constexpr int64_t pair = 2;
    const auto& terms = stage().reduction->axes;
    int64_t count = 1;
    for (const Axis& t : terms) count *= t.extent.value();
    bool pairs = plan_.blocked_k >= 0 && plan_.k_block % pair == 0 &&
                 terms[static_cast<size_t>(plan_.blocked_k)].extent.value() % pair == 0;
    bool grouped = uses(data(), stage().axes[static_cast<size_t>(plan_.n_axis)].var);
    if (!pairs || !reads_inside_ || grouped || count < machine_.min_k_to_interleave || config_.panel_width ||
        !is_constant(weights().buffer))
      return;
    int64_t half = channel_block / pair, halves = ceil_div(extent(plan_.n_axis), half);
    if (halves % pair == 0 || halves > machine_.max_half_blocks_to_interleave) return;
    // No tile of single vectors, whose every product needs a load, in place of one of several.
    int64_t of_vector = std::min<int64_t>(machine_.lanes(bits(weights().buffer->type)), channel_block) / pair;
    if (halves > 1 && choose_register_tile(machine_, of_vector, halves * half).vectors == 1) return;
    plan_.interleave = pair;
    plan_.panel = halves * half;
  }

  // Panels of columns outermost, then dimensions without reduced axes, then reduced ones in the order of the loops.
  void pack_weights() {
    const Shape& shape = weights().buffer->shape;
    const auto& terms = stage().reduction->axes;
    auto term_of = [&](size_t d) {
      for (size_t t = 0; t < terms.size(); ++t)
        if (uses(weights().indices[d], terms[t].var)) return static_cast<int>(t);
      return -1;
    };
    std::vector<Layout::Part> outer, middle, inner, in_vector;
    for (size_t d = 0; d < shape.size(); ++d) {
      int axis = static_cast<int>(d);
      int64_t size = shape[d].value();
      if (axis == column_dim_) continue;
      int t = term_of(d);
      bool blocked = t >= 0 && t == plan_.blocked_k && is_var(weights().indices[d], terms[static_cast<size_t>(t)].var);
      if (t < 0) {
        outer.push_back({axis, 1, size});
      } else if (blocked) {
        middle.insert(middle.begin(), {axis, plan_.k_block, ceil_div(size, plan_.k_block)});
        inner.push_back({axis, plan_.interleave, plan_.k_block / plan_.interleave});
        if (plan_.interleave > 1) in_vector.push_back({axis, 1, plan_.interleave});
      } else {
        middle.push_back({axis, 1, size});
      }
    }
    int64_t columns = shape[static_cast<size_t>(column_dim_)].value();
    Layout& layout = plan_.weights_layout;
    layout.parts = outer;
    layout.parts.push_back({column_dim_, plan_.panel, ceil_div(columns, plan_.panel)});
    layout.parts.insert(layout.parts.end(), middle.begin(), middle.end());
    layout.parts.insert(layout.parts.end(), inner.begin(), inner.end());
    layout.parts.push_back({column_dim_, 1, plan_.panel});
    layout.parts.insert(layout.parts.end(), in_vector.begin(), in_vector.end());
    layout.tail = Layout::Tail::zero;
    bool rows_already = column_dim_ == static_cast<int>(shape.size()) - 1 && layout_of(weights().buffer).is_dense();
    plan_.packs_at_run_time = !is_constant(weights().buffer);
    if (plan_.packs_at_run_time && rows_already && columns % channel_block == 0) {
      layout = {};  // already contiguous along the columns
      plan_.packs_at_run_time = false;
      return;
    }
    std::vector<int64_t> stored = physical_shape(layout, static_shape(shape));
    plan_.panels = make_buffer("panels", weights().buffer->type, shape_of(stored), Scope::global, storage_alignment);
  }

  const TensorFunction& f_;
  const std::vector<Layout>& layouts_;
  const std::vector<bool>& constant_;
  const ScheduleOptions& options_;
  const Machine& machine_;
  const TuningConfig& config_;
  bool whole_blocks_;
  ContractionPlan plan_;
  int column_dim_ = -1;
  bool reads_inside_ = false;  // of the data's storage or its padded copy
};

}  // namespace

std::optional<ContractionPlan> plan_contraction(const TensorFunction& f, const std::vector<Layout>& layouts,
                                                const std::vector<bool>& constant, const ScheduleOptions& options,
                                                const Machine& machine, bool whole_blocks, const TuningConfig& config) {
  return Planner(f, layouts, constant, options, machine, config, whole_blocks).run();
}

}  // namespace dlcc::tensor
