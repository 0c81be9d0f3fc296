// Linear forms of int64 expressions: sums of atoms with constant coefficients. The simplifier collects, compares and
// divides sums in this form.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A total order of expressions by structure. Variables are ordered by name, then by their first comparison in this
// object, so that the order is the same in every run.
class ExprOrder {
 public:
  int compare(const Expr& a, const Expr& b);

 private:
  int compare(const std::vector<Expr>& a, const std::vector<Expr>& b);
  int number(const Var& v) { return seen_.emplace(v, static_cast<int>(seen_.size())).first->second; }
  std::map<Var, int> seen_;  // looked up only
};

// constant + sum of coefficient * atom, modulo 2^64. Terms are sorted, atoms distinct, coefficients not zero.
struct Linear {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
};

int64_t wrapping_add(int64_t a, int64_t b);
int64_t wrapping_mul(int64_t a, int64_t b);

Linear add(const Linear& a, const Linear& b, int64_t factor, ExprOrder&);  // a + factor * b
Linear scale(const Linear& a, int64_t factor);
bool same_terms(const Linear& a, const Linear& b, int64_t factor, ExprOrder&);  // a's terms are those of factor * b

// The sum of multiples of atoms, which are in any order and may be equal, and of a constant.
Linear sum_of(std::vector<std::pair<Expr, int64_t>> terms, int64_t constant, ExprOrder&);

// Adds factor * e, for an expression whose operands are simplified, to such terms and a constant.
void add_terms(const Expr& e, int64_t factor, std::vector<std::pair<Expr, int64_t>>& terms, int64_t& constant);

// The linear form of an expression whose operands are simplified. Atoms are the sub-expressions that are not sums,
// differences or constant multiples.
Linear linear_form(const Expr&, ExprOrder&);

// The expression of a linear form: "16 * o + i - 1". Large coefficients come first, negative ones are subtractions.
Expr to_expr(const Linear&);

}  // namespace dlcc::tensor
