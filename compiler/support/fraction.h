// Fractions that floating-point numbers stand for.
#pragma once

#include <cstdint>
#include <optional>

namespace dlcc {

struct Fraction {
  int64_t numerator, denominator;  // both positive
};

// The fraction with the smallest denominator that rounds to this positive float32: 3/5 for 0.6f. It is found among the
// convergents and intermediate fractions of the continued fraction; empty if one of its parts exceeds 2^31, and for
// numbers that are not positive and finite.
std::optional<Fraction> simplest_fraction(float value);

}  // namespace dlcc
