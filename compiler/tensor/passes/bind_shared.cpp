#include "tensor/passes/bind_shared.h"

#include <map>

#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

bool is_leaf(const Expr& e) { return as<Literal>(e) || as<VarRef>(e); }

// Finds the shared sub-expressions of one expression.
class SharedFinder {
 public:
  void add(const Expr& root) {
    if (root) walk(root, false);
  }

  // Whether the node is evaluated for all values of the conditions of selects.
  bool is_always_evaluated(const Expr& e) const { return uses_.at(e.get()).always; }

  // Shared nodes, inner ones first.
  std::vector<Expr> shared() const {
    std::vector<Expr> list;
    for (const Expr& e : order_) {
      const Uses& u = uses_.at(e.get());
      if (u.count > 1 && !is_leaf(e)) list.push_back(e);
    }
    return list;
  }

 private:
  struct Uses {
    int count = 0;
    bool always = false;  // some use is not in an arm of a select
  };

  void walk(const Expr& e, bool conditional) {
    Uses& u = uses_[e.get()];
    bool first = u.count++ == 0, newly_always = !conditional && !u.always;
    u.always |= !conditional;
    if (!first && !newly_always) return;
    // A node that is visited again, now outside of select arms, marks its operands and does not count their uses again.
    auto operand = [&](const Expr& child, bool guarded) {
      if (!first && !guarded) --uses_[child.get()].count;
      if (first || !guarded) walk(child, conditional || guarded);
    };
    std::visit(overloaded{
                   [&](const Literal&) {},
                   [&](const VarRef&) {},
                   [&](const Unary& x) { operand(x.a, false); },
                   [&](const Binary& x) { operand(x.a, false), operand(x.b, false); },
                   [&](const Fma& x) { operand(x.a, false), operand(x.b, false), operand(x.c, false); },
                   [&](const Select& x) { operand(x.condition, false), operand(x.a, true), operand(x.b, true); },
                   [&](const Cast& x) { operand(x.a, false); },
                   [&](const Bitcast& x) { operand(x.a, false); },
                   [&](const Load& x) {
                     for (const Expr& i : x.indices) operand(i, false);
                     if (x.otherwise) operand(x.otherwise, false);
                   },
               },
               e->v);
    if (first) order_.push_back(e);
  }

  std::map<const ExprNode*, Uses> uses_;
  std::vector<Expr> order_;  // children first
};

// Binds the shared sub-expressions of `root` before the statement; with(e) is the statement with `e` in place of
// `root`.
Stmt with_bindings(const Stmt& s, const Expr& root, const std::function<Stmt(const Expr&)>& with) {
  SharedFinder finder;
  finder.add(root);
  bool integers = root.type() == dtype::i64;  // int64 sub-expressions are data, not addresses
  std::map<const ExprNode*, Expr> done;       // the replacement of each node
  std::function<Expr(const Expr&)> replaced = [&](const Expr& e) {
    if (auto it = done.find(e.get()); it != done.end()) return it->second;
    Expr r = map_operands(e, replaced);
    // Before the statement, no select guards the load any more: it needs a predicate.
    const Load* l = as<Load>(r);
    if (l && !l->otherwise && l->buffer->scope != Scope::reg && !finder.is_always_evaluated(e))
      r = load(l->buffer, l->indices, literal(r.type(), int64_t{0}));
    return done[e.get()] = r;
  };
  std::vector<std::pair<Var, Expr>> bindings;
  for (const Expr& e : finder.shared()) {               // inner ones first: outer ones use their variables
    if (e.type() == dtype::i64 && !integers) continue;  // code generation needs whole address expressions
    Var name = make_var("t", e.type());
    bindings.emplace_back(name, replaced(e));
    done[e.get()] = name;
  }
  if (bindings.empty()) return s;
  Stmt body = with(replaced(root));
  for (size_t k = bindings.size(); k-- > 0;) body = let(bindings[k].first, bindings[k].second, body);
  return body;
}

}  // namespace

Stmt bind_shared(const Stmt& root) {
  return rewrite(root, {}, [](const Stmt& s) -> Stmt {
    if (const Store* x = as<Store>(s))
      return with_bindings(s, x->value, [&](const Expr& value) { return store(x->buffer, x->indices, value); });
    if (const Require* x = as<Require>(s))
      return with_bindings(s, x->condition, [&](const Expr& condition) { return require(condition, x->status); });
    return s;
  });
}

}  // namespace dlcc::tensor
