// Sizes of a window reduction's register tiles, and its unrolling. Every machine decides for itself.
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
// at most 14 are 13, 12, 12, 12. Neighbouring tiles of equal size are one entry, but for those for which `alone` is
// true, where there are at most 65,536 tiles.
std::vector<EqualTiles> split_evenly(int64_t extent, int64_t max_size,
                                     const std::function<bool(int64_t begin, int64_t size)>& alone = nullptr);

struct WindowTiling {
  int64_t lanes = 1;                  // of a vector; divides channel_block
  int x_axis = -1;                    // the stage's axis of the results of a row, or -1
  std::vector<size_t> outer_axes;     // the axes other than the lanes' and x_axis
  int64_t results = 1;                // neighbouring results of a row in a tile, at most
  int64_t blocks = 1;                 // channel blocks in a tile, at most
  int unrolled_axis = -1;             // the reduced axis that is unrolled, or -1
  int partial_axis = -1;              // the reduced axis that is divided for partial sums, or -1: one sum
  int64_t partial_extent = 0;         // indices of partial_axis in a partial sum, each with all of the axes inside
  std::vector<EqualTiles> row_tiles;  // of x_axis; none if its extent is symbolic
};

WindowTiling choose_window_tiling(const WindowReductionPlan&, const WindowReductionArea&,
                                  const std::map<Buffer, Layout>&, const Machine&, int threads);

// Index `d` of a predicated load of the stage may be where nothing is stored, when variables are in these ranges.
bool reads_outside(const Load&, size_t d, const Stage&, const Ranges&, const std::map<Buffer, Layout>&);

// Ranges of the axes of the plan's stage, and what the area knows of other variables.
Ranges ranges_in(const WindowReductionPlan&, const WindowReductionArea&);

}  // namespace dlcc::tensor
