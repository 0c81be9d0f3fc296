#include "tensor/simplify_symbolic.h"

#include <algorithm>
#include <numeric>

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// a = quotient * b + remainder by long division: the first term of `b` divides no term of the remainder.
Facts::Division long_division(const Dim& a, const Dim& b) {
  constexpr int max_steps = 16;
  const Dim lead = Dim::sum_of({b.terms()[0]});
  Facts::Division result{0, a};
  for (int step = 0; step < max_steps; ++step) {
    Dim part;
    for (const Dim::Term& t : result.remainder.terms()) {
      const Dim term = Dim::sum_of({t}), factor = floor_div(term, lead);
      if (factor * lead == term) part = factor;
    }
    if (part == Dim(0)) break;
    result = {result.quotient + part, result.remainder - part * b};
  }
  return result;
}

// The quotient and the remainder of a / b where `b` is a sum, such as that of (i * (w + 1) + j) / (w + 1), which are i
// and j if 0 <= j <= w. A divisor c * d is tried as d, then c: (i * (2 * w + 2) + j) / (4 * w + 4) is i / 2 if
// 0 <= j < 2 * w + 2. Empty if that does not simplify the division.
std::optional<Facts::Division> divide_by_sum(const Facts& facts, const Dim& a, const Dim& b) {
  if (b.is_overflow() || b.terms().size() < 2 || !facts.provably_le(1, b)) return std::nullopt;
  int64_t content = 0;
  for (const Dim::Term& t : b.terms()) content = std::gcd(content, t.coefficient);
  constexpr int64_t max_content = 64;
  for (int64_t c = 1; c <= std::min(content, max_content); ++c) {
    if (content % c) continue;
    std::vector<Dim::Term> terms = b.terms();
    for (Dim::Term& t : terms) t.coefficient /= c;
    const Dim d = Dim::sum_of(std::move(terms));
    const auto [quotient, remainder] = long_division(a, d);
    if (quotient.is_overflow() || !facts.provably_le(0, remainder) || !facts.provably_lt(remainder, d)) continue;
    return Facts::Division{floor_div(quotient, c), d * floor_mod(quotient, c) + remainder};
  }
  return std::nullopt;
}

class SymbolicSimplifier {
 public:
  explicit SymbolicSimplifier(const IndexFacts& facts) : facts_(facts) {}

  Expr run(const Expr& e) const {
    return rewrite(e, [&](const Expr& x) { return as<Load>(x) ? load_of(x) : as<Binary>(x) ? binary_of(x) : x; });
  }

 private:
  Expr load_of(const Expr& e) const {
    const Load& l = *as<Load>(e);
    if (!l.otherwise) return e;
    for (size_t d = 0; d < l.indices.size(); ++d)
      if (!facts_.in_range(l.indices[d], l.buffer->shape[d])) return e;
    return load(l.buffer, l.indices);
  }

  Expr binary_of(const Expr& e) const {
    const Binary& x = *as<Binary>(e);
    if (x.a.type() != dtype::i64) return e;
    const bool is_division = x.op == BinaryOp::floor_div || x.op == BinaryOp::floor_mod;
    const bool is_extremum = x.op == BinaryOp::min || x.op == BinaryOp::max;
    if (!is_division && !is_extremum && !is_comparison(x.op)) return e;
    const auto a = facts_.value_of(x.a), b = facts_.value_of(x.b);
    if (!a || !b || (a->is_constant() && b->is_constant())) return e;
    if (is_comparison(x.op)) return decided(e, x.op, *a, *b);
    const Facts& facts = facts_.facts();
    if (is_extremum) {
      if (facts.provably_le(*a, *b)) return x.op == BinaryOp::min ? x.a : x.b;
      if (facts.provably_le(*b, *a)) return x.op == BinaryOp::min ? x.b : x.a;
      return e;
    }
    auto division = facts.divide(*a, *b);
    if (!division) division = divide_by_sum(facts, *a, *b);
    if (!division) return e;
    const Dim& result = x.op == BinaryOp::floor_div ? division->quotient : division->remainder;
    return result.is_overflow() ? e : facts_.expression_of(result);
  }

  Expr decided(const Expr& e, BinaryOp op, const Dim& a, const Dim& b) const {
    const Facts& facts = facts_.facts();
    auto known = [](bool holds) { return literal(dtype::boolean, int64_t{holds}); };
    switch (op) {
      case BinaryOp::gt:
        return decided(e, BinaryOp::lt, b, a);
      case BinaryOp::ge:
        return decided(e, BinaryOp::le, b, a);
      case BinaryOp::lt:
        return facts.provably_lt(a, b) ? known(true) : facts.provably_le(b, a) ? known(false) : e;
      case BinaryOp::le:
        return facts.provably_le(a, b) ? known(true) : facts.provably_lt(b, a) ? known(false) : e;
      default:
        return e;
    }
  }

  const IndexFacts& facts_;
};

}  // namespace

Expr simplify_symbolic(const Expr& e, const IndexFacts& facts) { return SymbolicSimplifier(facts).run(e); }

void simplify_symbolic(TensorFunction& f) {
  const std::vector<Symbol> symbols = symbols_of(f);
  if (symbols.empty()) return;
  for (Stage& stage : f.stages) {
    if (stage.body) continue;
    const IndexFacts facts = facts_within(stage, symbols);
    const Ranges ranges = ranges_of(stage);
    for (Expr& value : stage.values) {
      const Expr simple = simplify(value, ranges), changed = simplify_symbolic(simple, facts);
      if (!changed.same_node(simple)) value = simplify(changed, ranges);
    }
  }
}

}  // namespace dlcc::tensor
