// Requantization in fixed point: a function of int32 sums with few integer values, such as round(f32(sum) * scale +
// bias) between the bounds of a byte, in integer arithmetic.
//
// The function grows with the sum, so it is known by its steps: for each of its values, the least sum that has it. An
// approximation in integers, sum * multiplier + offset with some bits of fraction, passes a number near such a step.
// The float32 function rounds its intermediate results and takes even numbers at ties; so no multiplier and offset put
// all steps of it exactly where they are. Instead, a number whose fraction is small is in doubt: it is one of the few
// that come just after a step of the approximation. All other numbers are proved to be right, by comparison with the
// function on both sides of each of its steps. A kernel evaluates the function itself for a sum whose number is in
// doubt.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// floor((sum << shift) * multiplier / 2^k) + offset is a number with `fraction` bits after the binary point. It is in
// doubt if its fraction is less than 2^doubtful. The product of 32-bit factors has 64 bits, and k is 32. On CPUs that
// multiply 32 bits to 32, the multiplier has 16 bits, and k is 16.
struct FixedPointFormat {
  bool has_long_product = true;
  int shift = 0, fraction = 0, doubtful = 0;
};

struct FixedPointFactors {
  int32_t multiplier = 0, offset = 0;
};

// The number for a sum, rounded down to an integer by `>> fraction`, and whether it is in doubt.
int64_t fixed_point_number(const FixedPointFormat&, FixedPointFactors, int64_t sum);
Expr fixed_point_number(const FixedPointFormat&, const Expr& sum, const Expr& multiplier, const Expr& offset);
bool is_in_doubt(const FixedPointFormat&, int64_t number);
Expr is_in_doubt(const FixedPointFormat&, const Expr& number);

// A function of integers that does not decrease: it has at least `value` at the sums from `sum` on (`reaches`), and
// less than `value` up to `sum` (`stays_below`). Between them, these lists give its values for all sums of a range.
struct Steps {
  struct Bound {
    int64_t sum, value;
  };
  std::vector<Bound> reaches, stays_below;
};

// One set of factors for each of several functions, in one format.
struct FixedPoint {
  FixedPointFormat format;
  std::vector<FixedPointFactors> factors;
};

// The formats among which one is chosen: those with at most so many bits of fraction, of which at most `certain` decide
// whether a number is in doubt.
struct FixedPointLimits {
  bool has_long_product = true;
  int fraction = 32, certain = 32;
};

// Factors by which all numbers that are not in doubt are those of the functions. `largest` bounds the magnitude of
// sums. Empty if more than a sixteenth of all numbers would be in doubt.
std::optional<FixedPoint> fit_fixed_point(const std::vector<Steps>&, int64_t largest, const FixedPointLimits&);

}  // namespace dlcc::tensor
