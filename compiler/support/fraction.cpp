#include "support/fraction.h"

#include <cmath>

namespace dlcc {

// A walk down the Stern-Brocot tree. Steps in the same direction are doubled, as long as the fraction stays on its side
// of the value and does not round to it.
std::optional<Fraction> simplest_fraction(float value) {
  constexpr int64_t most = int64_t{1} << 31;
  if (!(value > 0) || !std::isfinite(value)) return std::nullopt;
  const double target = value;
  Fraction low{0, 1}, high{1, 0};
  auto quotient = [](const Fraction& f) {
    return static_cast<double>(f.numerator) / static_cast<double>(f.denominator);
  };
  auto step = [](const Fraction& from, const Fraction& by, int64_t times) {
    return Fraction{from.numerator + times * by.numerator, from.denominator + times * by.denominator};
  };
  auto rounds = [&](const Fraction& f) { return static_cast<float>(quotient(f)) == value; };
  while (true) {
    const Fraction middle = step(low, high, 1);
    if (middle.numerator > most || middle.denominator > most) return std::nullopt;
    if (rounds(middle)) return middle;
    const bool below = quotient(middle) < target;
    Fraction &moved = below ? low : high, &by = below ? high : low;
    int64_t times = 1;  // doubles while the fraction stays on its side without rounding to the number
    while (true) {
      const Fraction next = step(moved, by, 2 * times);
      const bool stays = (quotient(next) < target) == below && !rounds(next);
      if (!stays || next.numerator > most || next.denominator > most) break;
      times *= 2;
    }
    moved = step(moved, by, times);
  }
}

}  // namespace dlcc
