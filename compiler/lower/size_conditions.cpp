#include "lower/size_conditions.h"

#include <algorithm>
#include <cmath>

namespace dlcc::lower {

using tensor::Expr;

namespace {

// int64 arithmetic does not wrap if the sum of the magnitudes of its terms is at most this number. The sum is computed
// in float64, whose rounding may make it a little too small.
constexpr double largest_magnitude = 4611686018427387904.0;  // 2^62

// An upper bound, in float64, of the absolute values of a dim and of its parts.
struct Magnitude {
  Expr value;   // for the symbols' values in a run
  double most;  // for all values: a symbol is at most max_elements
};
Magnitude operator+(const Magnitude& a, const Magnitude& b) { return {a.value + b.value, a.most + b.most}; }
Magnitude operator*(const Magnitude& a, const Magnitude& b) { return {a.value * b.value, a.most * b.most}; }

Magnitude magnitude(double number) { return {tensor::literal(dtype::f64, number), number}; }

// A quotient, a minimum or a maximum may be much smaller than its operands, as min(h, 10^9) of a slice: it counts with
// its absolute value, which does not wrap if the bounds of its operands, which are added to `operands`, are small.
Magnitude magnitude(const Dim&, std::vector<Magnitude>& operands);

Magnitude magnitude(const std::shared_ptr<const DimAtom>& atom, std::vector<Magnitude>& operands) {
  if (atom->kind == DimAtom::Kind::symbol) {
    const auto most = static_cast<double>(std::min(atom->symbol.high, tensor::max_elements));
    return {tensor::cast(dtype::f64, tensor::symbol_var(atom->symbol)), most};
  }
  const Magnitude a = magnitude(atom->args[0], operands), b = magnitude(atom->args[1], operands);
  if (!atom->args[0].is_constant()) operands.push_back(a);  // a constant fits int64
  if (!atom->args[1].is_constant()) operands.push_back(b);
  const bool is_minimum =
      atom->kind == DimAtom::Kind::min && provably_le(0, atom->args[0]) && provably_le(0, atom->args[1]);
  const Dim value = Dim::of_atom(atom);
  const Expr absolute = provably_le(0, value) ? Expr(value) : tensor::max(Expr(value), Expr(Dim(0) - value));
  return {tensor::cast(dtype::f64, absolute), is_minimum ? std::min(a.most, b.most) : 1 + a.most + b.most};
}

Magnitude magnitude(const Dim& d, std::vector<Magnitude>& operands) {
  Magnitude sum = magnitude(0.0);
  for (const Dim::Term& term : d.terms()) {
    Magnitude product = magnitude(std::abs(static_cast<double>(term.coefficient)));
    for (const auto& atom : term.atoms) product = product * magnitude(atom, operands);
    sum = sum + product;
  }
  return sum;
}

}  // namespace

std::vector<Expr> conditions_without_wrapping(const Dim& size) {
  std::vector<Magnitude> bounds;
  const Magnitude whole = magnitude(size, bounds);
  bounds.push_back(whole);
  std::vector<Expr> conditions;
  for (const Magnitude& bound : bounds)
    if (bound.most > largest_magnitude)
      conditions.push_back(bound.value <= tensor::literal(dtype::f64, largest_magnitude));
  return conditions;
}

std::vector<Expr> conditions_of_small_size(const Dim& size, int64_t limit) {
  std::vector<Expr> conditions = conditions_without_wrapping(size);
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
