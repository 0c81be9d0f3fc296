// The schedule of the first stage of a separable window (separable_window.h): a reduction along the columns of a dense
// image, of whose result another stage reads a row at a time. Neighbouring results read neighbouring elements. Rows and
// columns outside of the image are left out, so that the image needs no padded copy:
//
//   parallel all axes but the row; the innermost one serial, so that its rows are not fused with those of other stages:
//     result[.., c] = identity                             # columns c before and after the image
//     for tile of the columns of the image:
//       acc[v, lane] = identity                            # registers
//       for reduced axes: at = index of the row; if it is in range:
//         unrolled v: vector lane:
//           acc[v, lane] = combine(acc[v, lane], value(left + v * lanes + lane))
//       result[.., left + v * lanes + lane] = acc[v, lane]
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

struct ColumnReductionPlan {
  Stage stage;
  size_t row_axis;           // of the stage, the innermost of its result
  Load load;                 // the stage's only one
  std::vector<size_t> rows;  // dimensions of the load, other than the columns, whose index may be out of range
  Dim begin, end;            // the columns of the image
};

// The plan for stage `k`. Empty unless another reduction of the function reads the stage's result, and the stage reads
// one element of a dense image at each point: at the index of the row plus a constant.
std::optional<ColumnReductionPlan> plan_column_reduction(const TensorFunction&, size_t k,
                                                         const std::map<Buffer, Layout>& layouts);

Stmt schedule_column_reduction(const ColumnReductionPlan&, const Machine&);

}  // namespace dlcc::tensor
