// The register tile of a tiled reduction (tiled_reduction.h).
#pragma once

#include <optional>

#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/shared_rows.h"
#include "tensor/schedules/tiled_reduction.h"

namespace dlcc::tensor {

struct TileShape {
  int unrolled_axis = -1;  // of the stage, or -1
  int64_t unrolled = 1;    // its indices in a tile
  int64_t vectors = 1;     // of the row
  bool shares_vectors = false;
  bool shares_operands = false;  // whether indices of the unrolled axis read the same elements, vectors or single ones
  std::optional<SharedRows> rows;  // the loops follow the rows of the image instead of these taps
};

// The tile with the lowest estimated time for each result.
TileShape choose_tile(const TiledReductionPlan&, const Machine&);

// Whether a result may be computed twice.
Repetition repetition_of(const TiledReductionPlan&);

// The distance along the row of the elements that a load gives to neighbouring results; 0 if it is one element.
int64_t lane_stride(const Load&, const Var& row);

}  // namespace dlcc::tensor
