// The schedule of sums of products (matrix products, convolutions, dense layers): register tiles over packed weights,
// the whole reduction in registers, the epilogue on the accumulators.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tensor/analysis.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Decisions shared by all machines, because they concern memory: how weights are packed, which copies of operands are
// made.
struct ContractionPlan {
  TensorFunction function;
  Contraction contraction;
  int n_axis = -1;              // the stage's axis of the vectors: in the weights, and in the data at most as its group
  std::vector<int> m_axes;      // the other axes that only the data has; the last two are tiled
  std::vector<int> batch_axes;  // axes of both factors: one product each
  bool blocked_result = false;  // the result is stored in blocks of columns, so that whole blocks may be written
  int64_t panel = 16;           // columns per packed panel
  // Neighbouring terms that share a vector: lane l has column l / interleave and term l % interleave. With two of them,
  // numbers of columns that end with half a vector waste none of it; the lanes of a column are added at the end.
  int64_t interleave = 1;
  Layout weights_layout;  // panels outermost, then the reduced axes, columns of a panel and their terms innermost
  // The weights as stored by that layout, as the kernel sees them: a constant, packed, in place of the weights, or
  // scratch that the kernel fills. Null: they are read as they are.
  Buffer panels;
  bool packs_at_run_time = false;
  // Scratch copy of the data, with zeros round it where it is read outside of its storage, or of only those elements of
  // each dimension that are multiples of its step; or null.
  Buffer data_copy;
  Layout data_layout;
  std::vector<int64_t> data_steps;
  int blocked_k = -1;             // the reduced axis that the data's storage splits into blocks,
  int64_t k_block = 1;            // and the block
  int64_t k_per_accumulator = 0;  // at most so many products are added to one accumulator; 0: any number
};

// Pixels (M) and vectors of N whose accumulators are computed together: the most products per load that fit the
// registers. Beside rows * vectors accumulators, registers hold one vector of weights for each of `vectors`; the data,
// which is one broadcast element, or a vector of K for each row (Machine::multiplies_by_lane); the product (without
// FMA); and one value to spare. The vectors divide the panel.
struct RegisterTile {
  int64_t rows = 1, vectors = 1;
};
RegisterTile choose_register_tile(const Machine&, int64_t columns_of_vector, int64_t panel);

// Empty when the function is not a contraction that this schedule handles. `layouts` and `constant` as in
// ScheduleRequest; the machine is the deciding one. `whole_blocks`: panels are to end with blocks of columns.
std::optional<ContractionPlan> plan_contraction(const TensorFunction&, const std::vector<Layout>& layouts,
                                                const std::vector<bool>& constant, const ScheduleOptions&,
                                                const Machine&, bool whole_blocks, const TuningConfig& = {});

Stmt schedule_contraction(const ContractionPlan&, const Machine&, const TuningConfig& = {});

// Rows [top, top + tall) of the image, all of their pixels, of a panel's columns (the last panel may have fewer). All
// lie inside, a place in the storage's last block included.
struct ContractionArea {
  Expr first_column;
  int64_t columns = 0;
  Expr top;
  int64_t tall = 0;
};

// The contraction in two pieces, for schedules that interleave it with others: the copies of operands, once, and an
// area. The variables of row axes that are not the image's are free in it.
Stmt schedule_copies(const ContractionPlan&, const Machine&);
Stmt schedule_area(const ContractionPlan&, const ContractionArea&, const Machine&, const TuningConfig& = {});

}  // namespace dlcc::tensor
