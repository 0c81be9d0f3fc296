#include "tensor/simplify_symbolic.h"

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

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
    const auto division = facts.divide(*a, *b);
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
