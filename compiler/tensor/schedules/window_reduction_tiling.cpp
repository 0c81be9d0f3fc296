#include "tensor/schedules/window_reduction_tiling.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/layout.h"
#include "tensor/schedules/loops.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

std::vector<EqualTiles> split_evenly(int64_t extent, int64_t max_size,
                                     const std::function<bool(int64_t begin, int64_t size)>& alone) {
  std::vector<EqualTiles> found;
  int64_t tiles = ceil_div(extent, max_size), begin = 0;
  constexpr int64_t max_tested_tiles = 1 << 16;  // bounds the compile time
  if (!alone || tiles > max_tested_tiles) {
    const int64_t size = tiles > 0 ? extent / tiles : 0, larger = tiles > 0 ? extent % tiles : 0;
    if (larger > 0) found.push_back({0, size + 1, larger});
    if (tiles > larger) found.push_back({larger * (size + 1), size, tiles - larger});
    return found;
  }
  bool last_alone = true;
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t size = extent / tiles + (t < extent % tiles);
    bool is_alone = alone && alone(begin, size);
    if (!is_alone && !last_alone && found.back().size == size)
      ++found.back().count;
    else
      found.push_back({begin, size, 1});
    last_alone = is_alone;
    begin += size;
  }
  return found;
}

bool reads_outside(const Load& l, size_t d, const Stage& stage, const Ranges& ranges,
                   const std::map<Buffer, Layout>& layouts) {
  if (!l.otherwise) return false;
  const Dim& extent = l.buffer->shape[d];
  std::optional<Halo> read;
  if (auto range = range_of(l.indices[d], ranges); range && extent.is_constant())
    read = beyond(*range, extent.value());
  else
    read = halo_read(l, d, stage);
  Layout layout = is_literal(l.otherwise, 0) ? layout_of(layouts, l.buffer) : Layout{};
  return !read || !is_stored(layout, static_cast<int>(d), extent, *read);
}

Ranges ranges_in(const WindowReductionPlan& plan, const WindowReductionArea& area) {
  Ranges ranges = ranges_of(plan.reduced);
  ranges.insert(area.known.begin(), area.known.end());
  return ranges;
}

namespace {

class Chooser {
 public:
  Chooser(const WindowReductionPlan& plan, const WindowReductionArea& area, const std::map<Buffer, Layout>& layouts,
          const Machine& machine, int threads)
      : plan_(plan), area_(area), layouts_(layouts), machine_(machine), stage_(plan.reduced), threads_(threads) {}

  WindowTiling run() {
    int bits_of_sum = bits(stage_.reduction->identity[0].type());
    tiling_.lanes = std::min<int64_t>(machine_.lanes(std::max(bits_of_sum, 8)), channel_block);
    divide_axes();
    choose_tile();
    choose_blocks();
    choose_unrolling();
    choose_partial_sums();
    choose_row_tiles();
    choose_loops();
    return tiling_;
  }

 private:
  int64_t extent(int axis) const { return axis < 0 ? 1 : stage_.axes[static_cast<size_t>(axis)].extent.value(); }
  const std::vector<Axis>& reduced() const { return stage_.reduction->axes; }

  // Divides the axes: x_axis is the innermost axis with several results that the area does not fix, the others are
  // outer axes.
  void divide_axes() {
    std::vector<size_t>& outer = tiling_.outer_axes;
    for (size_t k = 0; k < stage_.axes.size(); ++k)
      if (static_cast<int>(k) != plan_.lane_axis) outer.push_back(k);
    auto row = std::ranges::find_if(outer.rbegin(), outer.rend(), [&](size_t k) {
      return stage_.axes[k].extent != Dim(1) && static_cast<int>(k) != area_.row_axis &&
             !std::ranges::count(area_.free_axes, static_cast<int>(k));
    });
    if (row == outer.rend()) return;
    tiling_.x_axis = static_cast<int>(*row);
    outer.erase(std::next(row).base());
  }

  bool is_static_row() const {
    return tiling_.x_axis < 0 || stage_.axes[static_cast<size_t>(tiling_.x_axis)].extent.is_constant();
  }

  // Whether the sums are in general registers, of which weights, elements of the operand and addresses need some, too:
  // integers without vectors. Without an FPU, an epilogue of floats takes more code and time than the sums, so that
  // their tiles stay those of floats.
  bool is_in_general_registers() const {
    return tiling_.lanes == 1 && machine_.has_fma && is_integer(stage_.reduction->identity[0].type());
  }

  // A third of the general registers are accumulators. A row that is a little longer is one tile, too: some values are
  // loaded again, but taps and epilogue have less overhead than those of two tiles.
  void choose_tile_of_integers() {
    const int64_t most = machine_.accumulators_in_flight, registers = machine_.general_registers;
    const bool is_short = is_static_row() && extent(tiling_.x_axis) <= std::min(registers / 2, most);
    tiling_.results = is_short ? extent(tiling_.x_axis) : std::min(registers / 3, most);
  }

  // Chooses as many accumulators as hide the latency of an addition. Further registers hold the elements that
  // neighbouring results share (Machine::shared_element_registers), for each block the operands that do not depend on
  // the reduced axes, and without FMA the product. Half of the registers are accumulators, so that each has a register
  // for its operand.
  void choose_tile() {
    if (is_in_general_registers()) return choose_tile_of_integers();
    const int64_t product = machine_.has_fma ? 0 : 1;
    int64_t registers =
                machine_.vector_registers - machine_.unassigned_registers - machine_.shared_element_registers - product,
            accumulators = std::clamp<int64_t>(registers / 2, 1, machine_.accumulators_in_flight);
    int64_t &results = tiling_.results, &blocks = tiling_.blocks;
    results = is_static_row() ? std::min(extent(tiling_.x_axis), accumulators) : accumulators;
    blocks = std::max<int64_t>(std::min(accumulators / results, registers / (results + invariant_loads())), 1);
    if (results > machine_.max_results_of_several_blocks) blocks = 1;
  }

  int64_t invariant_loads() const {
    auto loads = loads_of(stage_.values[0]);
    return std::ranges::count_if(loads, [&](const Load& l) {
      return std::ranges::none_of(reduced(), [&](const Axis& a) { return uses(l, a.var); });
    });
  }

  // Chooses the number of blocks in a tile, at most tiling_.blocks, for which the largest share of a thread is
  // smallest.
  void choose_blocks() {
    int64_t best = tiling_.blocks, smallest = area_.lanes;
    for (int64_t size = tiling_.blocks; size >= 1; --size) {
      int64_t largest = 0;
      for (const EqualTiles& t : split_evenly(area_.lanes / channel_block, size))
        largest += ceil_div(t.count, threads_) * t.size;
      if (largest < smallest) best = size, smallest = largest;
    }
    tiling_.blocks = best;
  }

  // The innermost reduced axis is unrolled, so that neighbouring results share loads. The others are loops, within
  // which weights are loaded again: they need no registers across tiles.
  void choose_unrolling() {
    int& axis = tiling_.unrolled_axis = static_cast<int>(reduced().size()) - 1;
    while (axis > 0 && reduced()[static_cast<size_t>(axis)].extent == Dim(1)) --axis;
    int64_t accumulators = tiling_.results * tiling_.blocks;
    if (axis >= 0 && reduced()[static_cast<size_t>(axis)].extent.value() * accumulators > machine_.max_unrolled_updates)
      axis = -1;
  }

  // A sum of n floats, n > 64, is divided into about sqrt(n) partial sums of sqrt(n) values: each value then takes part
  // in at most 2 sqrt(n) roundings (blocked summation: Higham, "The Accuracy of Floating Point Summation", 1993,
  // section 3).
  void choose_partial_sums() {
    constexpr int64_t max_values_of_one_sum = 64;
    int64_t all = 1, inside = 1, root = 1;
    for (const Axis& a : reduced()) all *= a.extent.value();
    const Reduction& r = *stage_.reduction;
    bool is_float_sum = reducer_kind(r) == ReducerKind::sum && is_float(r.identity[0].type());
    if (all <= max_values_of_one_sum || !is_float_sum) return;
    while (root * root < all) ++root;
    size_t axis = reduced().size() - 1;
    for (; inside * reduced()[axis].extent.value() <= root; --axis) inside *= reduced()[axis].extent.value();
    tiling_.partial_axis = static_cast<int>(axis);
    tiling_.partial_extent = root / inside;
    if (tiling_.unrolled_axis == tiling_.partial_axis) tiling_.unrolled_axis = -1;
  }

  // A tile that reads outside the image at an end of the row has code of its own. Its position is constant, so that the
  // simplifier evaluates its predicates at compile time.
  void choose_row_tiles() {
    if (!is_static_row()) return;
    int64_t width = extent(tiling_.x_axis);
    tiling_.row_tiles = split_evenly(width, tiling_.results,
                                     [&](int64_t begin, int64_t size) { return row_reads_outside(begin, size); });
    if (std::ssize(tiling_.row_tiles) > machine_.max_row_tiles)
      tiling_.row_tiles = split_evenly(width, tiling_.results);
  }

  // Without vectors, a loop over few taps takes as long as their products: the addresses of a row are computed in each
  // iteration. All taps are unrolled if the tiles of a row together have few updates.
  void choose_loops() {
    if (!is_in_general_registers() || tiling_.unrolled_axis < 0 || tiling_.row_tiles.empty()) return;
    int64_t updates = 0;
    for (const EqualTiles& t : tiling_.row_tiles) updates += t.size;
    for (const Axis& a : reduced()) updates *= a.extent.value();
    tiling_.unrolls_all_axes = updates <= machine_.max_unrolled_updates;
  }

  bool row_reads_outside(int64_t begin, int64_t size) const {
    if (tiling_.x_axis < 0) return false;
    const Var& x = stage_.axes[static_cast<size_t>(tiling_.x_axis)].var;
    Ranges ranges = ranges_in(plan_, area_);
    ranges[x] = {begin, begin + size - 1};
    auto outside = [&](const Load& l) {
      for (size_t d = 0; d < l.indices.size(); ++d)
        if (uses(l.indices[d], x) && reads_outside(l, d, stage_, ranges, layouts_)) return true;
      return false;
    };
    auto loads = loads_of(stage_.values[0]);
    return std::ranges::any_of(loads, outside);
  }

  const WindowReductionPlan& plan_;
  const WindowReductionArea& area_;
  const std::map<Buffer, Layout>& layouts_;
  const Machine& machine_;
  const Stage& stage_;
  int threads_;
  WindowTiling tiling_;
};

}  // namespace

WindowTiling choose_window_tiling(const WindowReductionPlan& plan, const WindowReductionArea& area,
                                  const std::map<Buffer, Layout>& layouts, const Machine& machine, int threads) {
  return Chooser(plan, area, layouts, machine, threads).run();
}

}  // namespace dlcc::tensor
