// The intrinsics that schedules call, which the text of programs may name.
#pragma once

#include <vector>

#include "tensor/intrinsic.h"

namespace dlcc::tensor {

// The dot products of tensor/byte_products.h and the transpositions of tensor/tile_transpose.h.
const std::vector<const Intrinsic*>& known_intrinsics();

}  // namespace dlcc::tensor
