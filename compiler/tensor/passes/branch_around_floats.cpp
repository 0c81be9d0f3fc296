#include "tensor/passes/branch_around_floats.h"

#include <vector>

#include "tensor/visit.h"

namespace dlcc::tensor {

namespace {

bool has_float_arithmetic(const Expr& e) {
  bool found = false;
  for_each_expr(e, [&](const Expr& x) {
    const bool is_operation = as<Binary>(x) || as<Unary>(x) || as<Fma>(x) || as<Cast>(x);
    found |= is_operation && is_float(x.type());
  });
  return found;
}

// The selects of one statement, replaced by loads of register buffers.
class Branches {
 public:
  Expr replaced(const Expr& e) {
    const Select* s = as<Select>(e);
    if (!s || has_float_arithmetic(s->a) == has_float_arithmetic(s->b))
      return s ? e : map_operands(e, [&](const Expr& operand) { return replaced(operand); });
    const Buffer b = make_buffer("chosen", e.type(), {}, Scope::reg);
    branches_.push_back({b, if_then(s->condition, store(b, {}, s->a), store(b, {}, s->b))});
    return load(b, {});
  }

  // The branches before the statement that loads their buffers.
  Stmt before(Stmt s) const {
    for (auto b = branches_.rbegin(); b != branches_.rend(); ++b) s = allocate(b->buffer, sequence({b->statement, s}));
    return s;
  }

 private:
  struct Branch {
    Buffer buffer;
    Stmt statement;
  };
  std::vector<Branch> branches_;
};

}  // namespace

Stmt branch_around_floats(const Stmt& s) {
  return rewrite(s, {}, [](const Stmt& x) {
    Branches branches;
    if (const Store* stored = as<Store>(x)) {
      const Expr value = branches.replaced(stored->value);
      return value.same_node(stored->value) ? x : branches.before(store(stored->buffer, stored->indices, value));
    }
    if (const Let* bound = as<Let>(x)) {
      const Expr value = branches.replaced(bound->value);
      return value.same_node(bound->value) ? x : branches.before(let(bound->var, value, bound->body));
    }
    return x;
  });
}

}  // namespace dlcc::tensor
