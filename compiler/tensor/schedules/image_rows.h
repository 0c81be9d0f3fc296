// Building blocks of the schedules of dense images (tiled_reduction.h, separable_window.h, column_reduction.h), whose
// vectors are neighbouring results of a row.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// Whether the stage is a reduction with one result, and no axis has the constant extent 0.
bool is_single_reduction(const Stage&);

// The axis of the rows of the stage's result: the last one whose extent is not 1. Empty if there is none.
std::optional<size_t> row_axis_of(const Stage&);

// The indices of a load in one dimension: `count` indices from `first` on.
struct IndicesRead {
  int64_t first;
  Dim count;
};
// The indices that the load has in dimension `d`. If sizes are symbolic, all indices of the operand are added, so that
// the count is not negative. Empty if the indices have no bounds.
std::optional<IndicesRead> indices_read(const Load&, size_t d, const Stage&);

// The load of a stage that reads one operand, once, and depends on its axes only through this load. Empty otherwise.
std::optional<Load> only_load(const Stage&);

// Whether a point at which the load, the stage's only one, is out of range leaves the reduction unchanged.
bool leaves_unchanged(const Stage&, const Load&);

// The lanes of a vector of the stage's results: those of the widest type in the computation, at least 1.
int64_t lanes_of(const Stage&, const Machine&);

// A loop over tiles of `size` iterations of a loop of symbolic extent, which cover the iterations [begin, end). The
// last tile ends at `end` and overlaps the one before it: 7 iterations are two tiles of 4. If `end` is less than
// `size`, the statement `otherwise`.
Stmt with_overlap(const Dim& begin, const Dim& end, int64_t size, const std::function<Stmt(const Expr& first)>& tile,
                  const Stmt& otherwise);

// Vectors of a loop of symbolic extent, which cover the iterations [begin, end), the last one with an overlap. If there
// are less than `lanes` iterations in all, the vectors have the largest power of two of lanes that is not more, and
// cover [0, end). `lanes` is a power of two.
Stmt overlapping_vectors(const Dim& begin, const Dim& end, int64_t lanes,
                         const std::function<Stmt(const Expr& first, int64_t lanes)>& vector);

// Vectors of neighbouring results of a row that a tile computes together. They cover `width` results from `left` on; if
// that is less than all their lanes, the last vector overlaps the one before it.
struct RowVectors {
  Expr left;
  int64_t vectors = 1, lanes = 1;
  int64_t width = vectors * lanes;

  // The first result of vector `v`.
  Expr begin(const Expr& v) const;
};

// `tiles` tiles of a row of constant width, one after the other, each with the vectors of `first`.
struct RowPart {
  RowVectors first;
  int64_t tiles = 1;
};

// Whether a result may be computed twice.
enum class Repetition : uint8_t { forbidden, allowed };

// Cuts a row of constant width into tiles of at most `vectors` vectors. If results may be computed twice, the last
// vector overlaps the one before it: 14 results are two vectors of 8, and 7 results are two vectors of 4. Otherwise the
// row ends with vectors of smaller powers of two, since others take several registers. `lanes` is a power of two.
std::vector<RowPart> cut_row(int64_t width, int64_t vectors, int64_t lanes, Repetition);

// The tiles of a row: those of cut_row if its width is constant. In a row of symbolic width, the tile of fewer vectors
// is a loop over single vectors, or, if results may be computed twice, over tiles of half as many vectors with an
// overlap. A row that is shorter than a vector has overlapping vectors, too.
Stmt in_row_tiles(const Dim& width, int64_t vectors, int64_t lanes, Repetition,
                  const std::function<Stmt(const RowVectors&)>& tile);

}  // namespace dlcc::tensor
