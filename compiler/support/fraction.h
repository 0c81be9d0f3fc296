// Recovers the fraction whose rounding is a given floating-point number.
#pragma once

#include <cstdint>
#include <optional>

namespace dlcc {

struct Fraction {
  int64_t numerator, denominator;  // both positive
};

// The fraction with the smallest denominator that rounds to this positive float32: 3/5 for 0.6f. It is a convergent or
// an intermediate fraction of the continued fraction, found by a search of the Stern-Brocot tree. Empty if numerator or
// denominator exceeds 2^31, or if the value is not positive and finite.
std::optional<Fraction> simplest_fraction(float value);

}  // namespace dlcc
