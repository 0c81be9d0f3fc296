// The sizes of a window reduction's register tiles and its unrolled axis, chosen for each machine.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "tensor/schedules/window_reduction.h"

namespace dlcc::tensor {

// `count` tiles of `size` elements each, beginning at `begin`.
struct EqualTiles {
  int64_t begin, size, count;
};

// Divides `extent` elements into the fewest tiles of at most `max_size`, as evenly as possible: 49 elements in tiles of
// at most 14 are 13, 12, 12, 12. Neighbouring tiles of equal size share an entry. A tile for which alone(begin, size)
// is true has an entry of its own, unless there are more than 65,536 tiles.
std::vector<EqualTiles> split_evenly(int64_t extent, int64_t max_size,
                                     const std::function<bool(int64_t begin, int64_t size)>& alone = nullptr);

struct WindowTiling {
  int64_t lanes = 1;                  // of a vector; divides channel_block
  int x_axis = -1;                    // the stage's axis along a row of results, or -1
  std::vector<size_t> outer_axes;     // the axes other than the lanes' and x_axis
  int64_t results = 1;                // neighbouring results of a row in a tile, at most
  int64_t blocks = 1;                 // channel blocks in a tile, at most
  int unrolled_axis = -1;             // the reduced axis that is unrolled, or -1
  bool unrolls_all_axes = false;      // whether the other reduced axes are unrolled, too
  int partial_axis = -1;              // the reduced axis that is divided for partial sums, or -1: one sum
  int64_t partial_extent = 0;         // indices of partial_axis in a partial sum, with all inner reduced axes
  std::vector<EqualTiles> row_tiles;  // of x_axis; none if its extent is symbolic
};

// The tiling of an area of the results for one machine; `threads` share the blocks of lanes.
WindowTiling choose_window_tiling(const WindowReductionPlan&, const WindowReductionArea&,
                                  const std::map<Buffer, Layout>&, const Machine&, int threads);

// Whether index `d` of a predicated load of the stage may be outside the storage of its buffer, the halo included, for
// variables in these ranges.
bool reads_outside(const Load&, size_t d, const Stage&, const Ranges&, const std::map<Buffer, Layout>&);

// The ranges of the variables of the plan's stage: its axes, limited to the area, and WindowReductionArea::known.
Ranges ranges_in(const WindowReductionPlan&, const WindowReductionArea&);

}  // namespace dlcc::tensor
