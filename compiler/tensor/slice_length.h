// Bounds of the lengths of slices whose begin and end are known when the program runs.
#pragma once

#include <functional>
#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A number that the length of a slice does not exceed; empty if none is found. The length has the form in which
// strided_slice defines it, `end > begin ? end - begin : 0`. Where both ends are limited alike, the length is at most
// the distance before the limits: min(i + 1, n) - min(i, n) is at most 1. Where negative ends count from the end of the
// axis, `i < 0 ? i + n : i`, it is at most the distance before that, unless this is negative. `define`: replaces
// variables of the distance by their definitions.
std::optional<int64_t> largest_slice_length(const Expr& length, const std::function<Expr(const Expr&)>& define = {});

}  // namespace dlcc::tensor
