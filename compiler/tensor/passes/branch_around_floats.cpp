#include "tensor/passes/branch_around_floats.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tensor/visit.h"

namespace dlcc::tensor {

namespace {

using Replacements = std::map<const ExprNode*, Expr>;

bool has_float_arithmetic(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& x) {
    const bool is_operation = as<Binary>(x) || as<Unary>(x) || as<Fma>(x) || as<Cast>(x);
    found |= is_operation && is_float(x.type());
  });
  return found;
}

// Variables for the sub-expressions that a condition and the arms share.
class Bindings {
 public:
  explicit Bindings(const Expr& condition) {
    for_each_expr(condition, [&](const Expr& e) {
      // Code generation needs whole address expressions.
      if (!as<Literal>(e) && !as<VarRef>(e) && e.type() != dtype::i64) evaluated_.insert(e.get());
    });
  }

  Expr in_arm(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    if (!evaluated_.contains(e.get()))
      return done_[e.get()] = map_operands(e, [&](const Expr& operand) { return in_arm(operand); });
    const Var v = make_var("t", e.type());
    list_.emplace_back(v, in_condition(e));
    return done_[e.get()] = v;
  }

  Expr in_condition(const Expr& e) const {
    const auto it = done_.find(e.get());
    return it != done_.end() ? it->second : map_operands(e, [&](const Expr& operand) { return in_condition(operand); });
  }

  Stmt before(Stmt s) const {
    for (auto b = list_.rbegin(); b != list_.rend(); ++b) s = let(b->first, b->second, s);
    return s;
  }

 private:
  std::set<const ExprNode*> evaluated_;
  Replacements done_;
  std::vector<std::pair<Var, Expr>> list_;
};

// The selects of one expression, replaced by loads of register buffers.
class Branches {
 public:
  Expr replaced(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    return done_[e.get()] = compute(e);
  }

  // The branches before the statement that loads their buffers.
  Stmt before(Stmt s) const {
    for (auto b = branches_.rbegin(); b != branches_.rend(); ++b)
      s = allocate(b->first, sequence({b->second, std::move(s)}));
    return s;
  }

 private:
  Expr compute(const Expr& e) {
    const Select* s = as<Select>(e);
    if (!s) return map_operands(e, [&](const Expr& operand) { return replaced(operand); });
    if (has_float_arithmetic(s->a) == has_float_arithmetic(s->b)) return e;
    const Buffer b = make_buffer("chosen", e.type(), {}, Scope::reg);
    Bindings shared(s->condition);
    const Stmt first = store(b, {}, shared.in_arm(s->a)), second = store(b, {}, shared.in_arm(s->b));
    branches_.emplace_back(b, shared.before(if_then(shared.in_condition(s->condition), first, second)));
    return load(b, {});
  }

  Replacements done_;
  std::vector<std::pair<Buffer, Stmt>> branches_;
};

}  // namespace

Stmt branch_around_floats(const Stmt& root) {
  return rewrite(root, {}, [](const Stmt& s) {
    const Store* stored = as<Store>(s);
    if (!stored) return s;
    Branches branches;
    const Expr value = branches.replaced(stored->value);
    return value.same_node(stored->value) ? s : branches.before(store(stored->buffer, stored->indices, value));
  });
}

}  // namespace dlcc::tensor
