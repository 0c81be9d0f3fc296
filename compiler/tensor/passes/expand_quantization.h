// Quantizations divide by a scale. For a scale that is known, two multiplications give the same integers in a fraction
// of the time of a division.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// Replaces x / scale within quantizations, which are rounded to integers, by x * high + x * low, where high + low is
// the reciprocal of the scale to twice the precision; before, x is multiplied by a power of two if the reciprocal is
// near the limits of float32. The sum has one rounding (fused multiply-add). For each scale, the quotients near all
// ties are compared first: all integers are those of the division, else the division stays.
//
// A quantized number minus a zero point, as float32 again, stays in float32 between the bounds of its type. The results
// have the same bits: NaN is quantized to 0, and no zero is negative.
Stmt expand_quantization(const Stmt&);

}  // namespace dlcc::tensor
