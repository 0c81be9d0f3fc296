// The interior of a vector loop: the range in which its loads read neighbouring elements. Outside of it are the borders
// of a padded image, at which elements are mirrored, repeated or replaced:
//
//   vector i in 2:      y[i] = x[mirrored(i - 2)]
//   vector i in m:      y[i + 2] = x[i]                # the interior
//   vector i in 2:      y[i + m + 2] = x[mirrored(i + m)]
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/schedules/loops.h"

namespace dlcc::tensor {

struct Interior {
  Dim begin, end;
  Dim least_size;            // it is an interior if end - begin is at least this
  std::vector<Expr> values;  // in the interior: without mirrored indices, and without predicates along the loop
};

// The interior of loop `loop` of the nest, in which `values` are computed; they are expressions of the loops'
// variables. Empty if all loads are contiguous along the loop anyway, or if no part is known in which they are.
std::optional<Interior> find_interior(const std::vector<Expr>& values, const StorageLoops&, size_t loop);

}  // namespace dlcc::tensor
