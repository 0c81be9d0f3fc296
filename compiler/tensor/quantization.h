// The form of quantizations in tensor expressions: max(min(round_even(x) + zero, high), low), as an integer.
#pragma once

#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The operand of bounds that a conversion of float32 to the type enforces itself: max(min(x, 255), 0) for uint8. The
// type has at most 16 bits.
Expr without_enforced_bounds(DType type, Expr);

// cast(to, round_even(value) + zero), where the conversion saturates and NaN becomes 0.
struct Quantization {
  Expr value;  // float32
  int64_t zero = 0;
};

// A conversion to an integer type of at most 16 bits as a quantization, without bounds that the conversion enforces
// itself. Empty if it has another form, or a zero point that is no literal within 17 bits.
std::optional<Quantization> as_quantization(const Cast&, DType to);

}  // namespace dlcc::tensor
