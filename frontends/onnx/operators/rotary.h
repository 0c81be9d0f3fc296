// Rotary position embedding (Su et al., "RoFormer", 2021), which several operators share.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// Elements begin, begin + step, ... before `end` of the last axis.
Value last_axis(Node&, const Value& x, int64_t begin, int64_t end, int64_t step = 1);

// Rotates pairs of the first `size` elements of the last axis and keeps the others; `size` is even and at most as large
// as the axis. A pair is two neighbours if `interleaved`, else one element of each half. Cosine and sine have size / 2
// columns and are broadcast to the other axes.
Value rotate_pairs(Node&, const Value& x, const Value& cosine, const Value& sine, int64_t size, bool interleaved);

}  // namespace dlcc::frontends::onnx
