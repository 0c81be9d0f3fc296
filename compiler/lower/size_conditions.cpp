#include "lower/size_conditions.h"

#include <algorithm>
#include <cmath>

namespace dlcc::lower {

using tensor::Expr;

namespace {

// int64 arithmetic does not wrap if the sum of the magnitudes of its terms is less, and float64 represents every such
// integer.
constexpr double largest_magnitude = 4503599627370496.0;  // 2^52

// An upper bound, in float64, of the absolute values of a dim and of its parts.
struct Magnitude {
  Expr value;   // for the symbols' values in a run
  double most;  // for all values: a symbol is at most max_elements
};
Magnitude operator+(const Magnitude& a, const Magnitude& b) { return {a.value + b.value, a.most + b.most}; }
Magnitude operator*(const Magnitude& a, const Magnitude& b) { return {a.value * b.value, a.most * b.most}; }

Magnitude magnitude(double number) { return {tensor::literal(dtype::f64, number), number}; }

// Leaves out the operands of minima, because a minimum may be much smaller, as min(h, 10^9) of a slice: their bounds
// are added to `operands`.
Magnitude magnitude(const Dim& d, std::vector<Magnitude>& operands) {
  Magnitude sum = magnitude(0.0);
  for (const Dim::Term& term : d.terms()) {
    Magnitude product = magnitude(std::abs(static_cast<double>(term.coefficient)));
    for (const auto& atom : term.atoms) {
      if (atom->kind == DimAtom::Kind::symbol) {
        const auto most = static_cast<double>(std::min(atom->symbol.high, tensor::max_elements));
        product = product * Magnitude{tensor::cast(dtype::f64, tensor::symbol_var(atom->symbol)), most};
        continue;
      }
      const Magnitude a = magnitude(atom->args[0], operands), b = magnitude(atom->args[1], operands);
      const bool are_natural = provably_le(0, atom->args[0]) && provably_le(0, atom->args[1]);
      if (atom->kind == DimAtom::Kind::min && are_natural) {
        operands.insert(operands.end(), {a, b});
        product = product * Magnitude{tensor::min(a.value, b.value), std::min(a.most, b.most)};
      } else {  // no larger than the sum of its arguments
        product = product * (magnitude(1.0) + a + b);
      }
    }
    sum = sum + product;
  }
  return sum;
}

}  // namespace

std::vector<Expr> conditions_of_small_size(const Dim& size, int64_t limit) {
  std::vector<Magnitude> bounds;
  const Magnitude whole = magnitude(size, bounds);
  bounds.push_back(whole);
  std::vector<Expr> conditions;
  for (const Magnitude& bound : bounds)
    if (bound.most > largest_magnitude)
      conditions.push_back(bound.value <= tensor::literal(dtype::f64, largest_magnitude));
  const auto upper = size.upper_bound();
  if (!upper || *upper > limit) conditions.push_back(Expr(size) <= Expr(limit));
  return conditions;
}

std::vector<Expr> conditions_of_size(const Dim& size) {
  std::vector<Expr> conditions = conditions_of_small_size(size, tensor::max_elements);
  conditions.push_back(Expr(0) <= Expr(size));
  return conditions;
}

}  // namespace dlcc::lower
