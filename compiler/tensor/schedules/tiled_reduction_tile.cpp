#include "tensor/schedules/tiled_reduction_tile.h"

#include <algorithm>
#include <bit>

#include "tensor/analysis.h"
#include "tensor/schedules/sizes.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

int64_t lane_stride(const Load& l, const Var& row) {
  for (const Expr& i : l.indices)
    if (uses(i, row)) return stride_along(i, row).value_or(1);
  return 0;
}

Repetition repetition_of(const TiledReductionPlan& plan) {
  return plan.may_overwrite_operand ? Repetition::forbidden : Repetition::allowed;
}

namespace {

// Chooses the tile with the lowest cost for each result. In units of the time of one multiply-add, a tile takes as long
// as its multiply-adds, its loads, or the latency of the additions, whichever is longest, and the overhead of its
// loops.
class TileChooser {
 public:
  TileChooser(const TiledReductionPlan& plan, const Machine& machine, int64_t lanes, Repetition repetition)
      : stage_(plan.reduced),
        row_(plan.row_axis),
        by_row_(plan.by_row),
        machine_(machine),
        lanes_(lanes),
        repetition_(repetition),
        loads_(loads_of(plan.reduced.values[0])) {
    for (const Load& l : loads_) strides_.push_back(lane_stride(l, stage_.axes[static_cast<size_t>(row_)].var));
  }

  TileShape run() {
    consider(-1, 1);
    if (by_row_) return best_;
    for (int axis = static_cast<int>(stage_.axes.size()); axis-- > 0;)
      for (int64_t unrolled = 2;
           axis != row_ && unrolled <= std::min(typical_extent(axis), machine_.max_unrolled_indices); ++unrolled)
        consider(axis, unrolled);
    return best_;
  }

 private:
  int64_t typical_extent(int axis) const { return typical_image_size(stage_.axes[static_cast<size_t>(axis)].extent); }

  void consider(int axis, int64_t unrolled) {
    const std::vector<bool> shared = loads_shared_along(axis, unrolled);
    const auto rows = shared_rows(stage_, row_, axis);
    bool shares_vectors = false, shares_operands = false;
    for (size_t k = 0; unrolled > 1 && k < loads_.size(); ++k) {
      shares_operands |= shared[k];
      shares_vectors |= shared[k] && strides_[k] > 0;
    }
    const int64_t extent = axis < 0 ? 1 : typical_extent(axis), width = typical_extent(row_);
    // A row narrower than a vector may have two vectors of fewer lanes.
    const int64_t lanes = std::min(lanes_, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(width))));
    const int64_t most = std::clamp<int64_t>(ceil_div(width, lanes), 1, machine_.max_row_vectors);
    for (int64_t vectors = 1; vectors <= most; ++vectors) {
      if (unrolled * vectors > 1 && !fits_registers(unrolled, vectors, shared, 0)) break;
      const bool by_row = rows && share_rows(*rows, unrolled) &&
                          unrolled * vectors * taps_of(*rows) <= machine_.max_unrolled_updates &&
                          fits_registers(unrolled, vectors, shared, vectors);
      const auto shared_by = by_row ? rows : std::nullopt;
      double time = 0;
      for (const RowPart& part : cut_row(width, vectors, lanes_, repetition_)) {
        auto of_tile = [&](int64_t indices) { return time_of_tile(indices, part.first.vectors, shared, shared_by); };
        const double of_column = static_cast<double>(extent / unrolled) * of_tile(unrolled) +
                                 (extent % unrolled ? of_tile(extent % unrolled) : 0);
        time += static_cast<double>(part.tiles) * of_column / static_cast<double>(extent);
      }
      if (best_time_ < 0 || time < best_time_)
        best_ = {axis, unrolled, vectors, shares_vectors, shares_operands, shared_by}, best_time_ = time;
    }
  }

  // The vectors that load `k` gives to a tile.
  int64_t values_of(size_t k, int64_t unrolled, int64_t vectors, const std::vector<bool>& shared) const {
    return (shared[k] ? 1 : unrolled) * (strides_[k] > 0 ? vectors : 1);
  }

  int64_t taps_of(const SharedRows& rows) const { return stage_.reduction->axes[rows.tap].extent.value(); }

  bool share_rows(const SharedRows& rows, int64_t unrolled) const {
    return std::ssize(readers_of_rows(rows, unrolled, taps_of(rows))) < unrolled * taps_of(rows);
  }

  double time_of_tile(int64_t unrolled, int64_t vectors, const std::vector<bool>& shared,
                      const std::optional<SharedRows>& rows) const {
    auto updates = [&](size_t indices) {
      return static_cast<double>(
          std::max(static_cast<int64_t>(indices) * vectors, static_cast<int64_t>(machine_.accumulators_in_flight)));
    };
    double loads = 0, of_updates = updates(static_cast<size_t>(unrolled)), overhead = machine_.tile_overhead;
    double rows_of_tap = 1;
    if (rows) {
      const auto taps = static_cast<double>(taps_of(*rows));
      const auto readers = readers_of_rows(*rows, unrolled, taps_of(*rows));
      rows_of_tap = static_cast<double>(readers.size()) / taps;
      overhead += machine_.tile_row_overhead * rows_of_tap;
      of_updates = 0;
      for (const auto& of_row : readers) of_updates += updates(of_row.size()) / taps;
    }
    for (size_t k = 0; k < loads_.size(); ++k) {
      // A row is loaded once for all of its taps, but the factor of a tap for each index that reads the row.
      const bool of_row = rows && strides_[k] > 0 && !shared[k], of_tap = rows && strides_[k] == 0;
      const double values = of_row   ? rows_of_tap * static_cast<double>(vectors)
                            : of_tap ? static_cast<double>(unrolled)
                                     : static_cast<double>(values_of(k, unrolled, vectors, shared));
      loads += values * lines_of(k);
    }
    return std::max(of_updates, loads) + overhead;
  }

  // The accesses to cache lines of a vector of load `k`, which is made of `stride` vectors of neighbours. A vector of
  // a tap begins anywhere in a line, so that one as long as a line is in two.
  double lines_of(size_t k) const {
    if (strides_[k] == 0) return 1;
    const int64_t bytes = strides_[k] * lanes_ * bits(loads_[k].buffer->type) / 8;
    return static_cast<double>(strides_[k]) +
           static_cast<double>(bytes) / static_cast<double>(machine_.cache_line_bytes);
  }

  // `of_row`: the vectors of a row that several indices read.
  bool fits_registers(int64_t unrolled, int64_t vectors, const std::vector<bool>& shared, int64_t of_row) const {
    int64_t kept = of_row, shuffled = 0;  // for a strided vector: `stride` loaded vectors and two shuffle masks
    for (size_t k = 0; k < loads_.size(); ++k) {
      if (shared[k]) kept += values_of(k, unrolled, vectors, shared) * (is_widened(k) ? 2 : 1);
      if (strides_[k] > 1) shuffled = strides_[k] + 2;
    }
    const int64_t product = machine_.has_fma ? 1 : machine_.product_registers;
    return unrolled * vectors + kept + shuffled + product + machine_.unassigned_registers <= machine_.vector_registers;
  }

  // Whether the elements of the load become wider before they are combined: both forms are in registers for a while.
  bool is_widened(size_t k) const { return bits(loads_[k].buffer->type) < bits(stage_.values[0].type()); }

  // Which loads read the same element for all indices of a tile.
  std::vector<bool> loads_shared_along(int axis, int64_t unrolled) const {
    if (axis < 0) return std::vector<bool>(loads_.size(), true);
    Ranges ranges = ranges_of(stage_);
    const Var tile = make_var("tile"), u = make_var("u");
    ranges[tile] = {0, typical_extent(axis) / unrolled - 1};
    ranges[u] = {0, unrolled - 1};
    const Substitution at = {{stage_.axes[static_cast<size_t>(axis)].var, Expr(tile) * Expr(unrolled) + Expr(u)}};
    std::vector<bool> shared;
    for (const Load& l : loads_)
      shared.push_back(
          std::ranges::none_of(l.indices, [&](const Expr& i) { return uses(simplify(substitute(i, at), ranges), u); }));
    return shared;
  }

  const Stage& stage_;
  int row_;
  bool by_row_;
  const Machine& machine_;
  int64_t lanes_;
  Repetition repetition_;
  std::vector<Load> loads_;
  std::vector<int64_t> strides_;  // lane_stride of each load
  TileShape best_;
  double best_time_ = -1;
};

}  // namespace

TileShape choose_tile(const TiledReductionPlan& plan, const Machine& machine) {
  return TileChooser(plan, machine, lanes_of(plan.reduced, machine), repetition_of(plan)).run();
}

bool shares_vectors(const TiledReductionPlan& plan, const Machine& machine) {
  return choose_tile(plan, machine).shares_vectors;
}

}  // namespace dlcc::tensor
