#include "lower/equal_sizes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "lower/sample_sizes.h"
#include "tensor/dim_of.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

// symbol == value, where `value` does not depend on the symbol.
struct Solution {
  Symbol symbol;
  Dim value;
  bool is_sum;  // of the other symbols, all with positive coefficients
};

class EqualityFitter {
 public:
  EqualityFitter(const Program& program, const std::set<std::string>& fixed, Sizes& sizes)
      : program_(program), fixed_(fixed), sizes_(sizes), symbols_(entry_symbols(program)) {}

  // Numbers that requirements name come last: in `n == 1 or n == m`, sizes are equal rather than 1.
  void run() {
    constexpr int rounds = 3;  // a size may be determined by one that another requirement determines
    for (const bool by_numbers : {false, true})
      for (int round = 0; round < rounds; ++round)
        for (const Require& r : program_.requirements)
          if (!holds(r.condition)) fit(r.condition, by_numbers);
  }

 private:
  bool holds(const tensor::Expr& condition) const {
    tensor::Substitution numbers;
    for (const auto& [name, size] : sizes_) numbers.emplace(scalar_of({name}), tensor::Expr(size));
    return tensor::constant_integer(tensor::simplify(tensor::substitute(condition, numbers))) != 0;
  }

  void fit(const tensor::Expr& condition, bool by_numbers) {
    std::vector<Solution> solutions;
    solve(condition, solutions);
    std::ranges::stable_partition(solutions, &Solution::is_sum);
    for (const Solution& s : solutions) {
      if (s.value.is_constant() != by_numbers || fixed_.contains(s.symbol.name)) continue;
      const auto value = s.value.evaluate(sizes_);
      if (!value || *value < s.symbol.low || *value > s.symbol.high) continue;
      const int64_t before = std::exchange(sizes_[s.symbol.name], *value);
      if (holds(condition)) return;
      sizes_[s.symbol.name] = before;
    }
  }

  // The solutions of the equalities in a condition of `and` and `or`.
  void solve(const tensor::Expr& condition, std::vector<Solution>& solutions) const {
    const auto* x = tensor::as<tensor::Binary>(condition);
    if (!x) return;
    if (x->op == tensor::BinaryOp::logical_and || x->op == tensor::BinaryOp::logical_or) {
      solve(x->a, solutions);
      solve(x->b, solutions);
    }
    if (x->op != tensor::BinaryOp::eq) return;
    const auto a = dim(x->a), b = dim(x->b);
    if (!a || !b) return;
    const Dim difference = *a - *b;
    for (size_t k = symbols_.size(); k-- > 0;)  // sizes of later inputs are the first to be changed
      for (const Dim::Term& term : difference.terms())
        if (const auto solution = solve(difference, term, symbols_[k])) solutions.push_back(*solution);
  }

  // The solution of difference == 0 for a symbol; empty unless the term is the symbol or its negative, and no other
  // term has the symbol.
  static std::optional<Solution> solve(const Dim& difference, const Dim::Term& term, const Symbol& symbol) {
    const bool is_symbol = term.atoms.size() == 1 && term.atoms[0]->kind == DimAtom::Kind::symbol &&
                           term.atoms[0]->symbol == symbol && std::abs(term.coefficient) == 1;
    if (!is_symbol) return std::nullopt;
    const Dim others = difference - Dim(term.coefficient) * Dim::symbol(symbol);
    if (std::ranges::count(others.symbols(), symbol) > 0) return std::nullopt;
    const Dim value = Dim(-term.coefficient) * others;
    const bool is_sum = std::ranges::all_of(value.terms(), [](const Dim::Term& t) { return t.coefficient > 0; });
    return Solution{symbol, value, is_sum};
  }

  std::optional<Dim> dim(const tensor::Expr& e) const {
    return tensor::dim_of(e, [&](const tensor::Var& v) -> std::optional<Dim> {
      for (const Symbol& s : symbols_)
        if (scalar_of(s) == v) return Dim::symbol(s);
      return std::nullopt;
    });
  }

  const Program& program_;
  const std::set<std::string>& fixed_;
  Sizes& sizes_;
  const std::vector<Symbol> symbols_;
};

}  // namespace

void satisfy_equalities(const Program& program, const std::set<std::string>& fixed,
                        std::map<std::string, int64_t>& sizes) {
  EqualityFitter(program, fixed, sizes).run();
}

}  // namespace dlcc::lower
