// Divisions of integers that C++ has no operator for.
#pragma once

#include <concepts>
#include <cstdint>

namespace dlcc {

// The quotient a / b rounded toward minus infinity; `b` is not zero.
template <std::integral T>
constexpr T floor_quotient(T a, T b) {
  return static_cast<T>(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

// a - floor_quotient(a, b) * b: zero or of the sign of `b`.
template <std::integral T>
constexpr T floor_remainder(T a, T b) {
  return static_cast<T>(a - floor_quotient(a, b) * b);
}

// The quotient a / b rounded up; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The smallest multiple of `multiple` that is not less than `a`; a >= 0.
constexpr int64_t round_up(int64_t a, int64_t multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace dlcc
