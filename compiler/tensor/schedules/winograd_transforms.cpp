#include "tensor/schedules/winograd_transforms.h"

#include "support/diagnostics.h"
#include "tensor/schedules/row_reduction.h"

namespace dlcc::tensor {

const WinogradMatrices& winograd_matrices(int64_t tile) {
  static const WinogradMatrices two = {
      {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
      {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
      {{1, 1, 1, 0}, {0, 1, -1, -1}},
  };
  static const WinogradMatrices four = {
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{1. / 4, 0, 0},
       {-1. / 6, -1. / 6, -1. / 6},
       {-1. / 6, 1. / 6, -1. / 6},
       {1. / 24, 1. / 12, 1. / 6},
       {1. / 24, -1. / 12, 1. / 6},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
  };
  DLCC_CHECK(tile == 2 || tile == 4, "there is no F({}, 3)", tile);
  return tile == 2 ? two : four;
}

Expr WinogradTransforms::scaled_sum(const Expr& sum, double factor, const Expr& x) const {
  if (factor == 0) return sum;
  Expr scale = literal(dtype::f32, factor);
  if (!sum) return factor == 1 ? x : factor == -1 ? -x : scale * x;
  if (factor == 1) return sum + x;
  if (factor == -1) return sum - x;
  return multiply_add(scale * x, sum, machine_);
}

// The sum of factors[k] * x[k] over all k, or over the even or odd ones.
Expr WinogradTransforms::combination(const std::vector<double>& factors, const std::vector<Expr>& x,
                                     int64_t parity) const {
  Expr sum;
  for (bool negative : {false, true})  // a positive term first, so that no negation is needed
    for (size_t k = 0; k < x.size(); ++k)
      if ((factors[k] < 0) == negative && (parity < 0 || static_cast<int64_t>(k % 2) == parity))
        sum = scaled_sum(sum, factors[k], x[k]);
  return sum;
}

Stmt bind_values(const std::vector<Expr>& values, const std::string& name, const WinogradTransforms::Body& body) {
  std::vector<Expr> refs;
  std::vector<Var> vars;
  for (const Expr& v : values) {
    vars.push_back(make_var(name, v.type()));
    refs.push_back(vars.back());
  }
  Stmt result = body(refs);
  for (size_t k = values.size(); k-- > 0;) result = let(vars[k], values[k], result);
  return result;
}

Stmt WinogradTransforms::input(const std::vector<Expr>& x, const Body& body) const {
  const Matrix& m = matrices_.input;
  std::vector<Expr> even_and_odd;
  for (size_t r = 1; r + 2 < m.size(); r += 2)
    even_and_odd.insert(even_and_odd.end(), {combination(m[r], x, 0), combination(m[r], x, 1)});
  return bind_values(even_and_odd, "part", [&](const std::vector<Expr>& p) {
    std::vector<Expr> rows = {combination(m[0], x)};
    for (size_t k = 0; k < p.size(); k += 2) rows.insert(rows.end(), {p[k] + p[k + 1], p[k] - p[k + 1]});
    rows.push_back(combination(m.back(), x));
    return body(rows);
  });
}

Stmt WinogradTransforms::output(const std::vector<Expr>& x, const Body& body) const {
  std::vector<Expr> sums_and_differences;
  for (size_t k = 1; k + 2 < x.size(); k += 2)
    sums_and_differences.insert(sums_and_differences.end(), {x[k] + x[k + 1], x[k] - x[k + 1]});
  return bind_values(sums_and_differences, "part", [&](const std::vector<Expr>& p) {
    std::vector<Expr> rows;
    for (size_t r = 0; r < matrices_.output.size(); ++r) {
      std::vector<double> factors = {matrices_.output[r][0]};
      std::vector<Expr> values = {x[0]};
      for (size_t k = 1; k + 2 < x.size(); k += 2) {
        factors.push_back(matrices_.output[r][k]);
        values.push_back(p[k - 1 + r % 2]);
      }
      factors.push_back(matrices_.output[r].back());
      values.push_back(x.back());
      rows.push_back(combination(factors, values));
    }
    return body(rows);
  });
}

}  // namespace dlcc::tensor
