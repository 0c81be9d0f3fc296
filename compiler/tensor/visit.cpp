#include "tensor/visit.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dlcc::tensor {

Expr map_operands(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  bool changed = false;
  auto sub = [&](const Expr& child) {
    if (!child) return child;
    Expr r = f(child);
    changed |= !r.same_node(child);
    return r;
  };
  return std::visit(overloaded{
                        [&](const Literal&) { return e; },
                        [&](const VarRef&) { return e; },
                        [&](const Unary& x) {
                          Expr a = sub(x.a);
                          return changed ? unary(x.op, a) : e;
                        },
                        [&](const Binary& x) {
                          Expr a = sub(x.a), b = sub(x.b);
                          return changed ? binary(x.op, a, b) : e;
                        },
                        [&](const Fma& x) {
                          Expr a = sub(x.a), b = sub(x.b), c = sub(x.c);
                          return changed ? fma(a, b, c) : e;
                        },
                        [&](const Select& x) {
                          Expr c = sub(x.condition), a = sub(x.a), b = sub(x.b);
                          return changed ? select(c, a, b) : e;
                        },
                        [&](const Cast& x) {
                          Expr a = sub(x.a);
                          return changed ? cast(e.type(), a, x.saturate) : e;
                        },
                        [&](const Bitcast& x) {
                          Expr a = sub(x.a);
                          return changed ? bitcast(e.type(), a) : e;
                        },
                        [&](const Load& x) {
                          std::vector<Expr> indices;
                          for (const Expr& i : x.indices) indices.push_back(sub(i));
                          Expr otherwise = sub(x.otherwise);
                          return changed ? load(x.buffer, std::move(indices), otherwise) : e;
                        },
                    },
                    e->v);
}

namespace {

// Rewrites each node once, also one that several expressions share: roots and shared nodes are remembered.
class ExprRewriter {
 public:
  explicit ExprRewriter(const std::function<Expr(const Expr&)>& f) : f_(f) {}

  Expr operator()(const Expr& root) { return root ? remembered(root) : root; }

 private:
  Expr remembered(const Expr& e) {
    if (auto it = done_.find(e.get()); it != done_.end()) return it->second.second;
    Expr result = rewritten(e);
    done_.emplace(e.get(), std::pair(e, result));  // keeps `e` alive, so that its address stays its own
    return result;
  }

  Expr rewritten(const Expr& e) {
    return f_(
        map_operands(e, [&](const Expr& child) { return child.is_shared() ? remembered(child) : rewritten(child); }));
  }

  const std::function<Expr(const Expr&)>& f_;
  std::map<const ExprNode*, std::pair<Expr, Expr>> done_;
};

class StmtRewriter {
 public:
  StmtRewriter(const std::function<Expr(const Expr&)>& on_expr, const std::function<Stmt(const Stmt&)>& on_stmt)
      : exprs_(on_expr), rewrites_exprs_(static_cast<bool>(on_expr)), on_stmt_(on_stmt) {}

  Stmt operator()(const Stmt& s) {
    if (!s) return s;
    Stmt result = rebuild(s);
    return on_stmt_ && result ? on_stmt_(result) : result;
  }

 private:
  Expr expr(const Expr& e) {
    if (!rewrites_exprs_) return e;
    Expr r = exprs_(e);
    changed_ |= !r.same_node(e);
    return r;
  }
  std::vector<Expr> exprs(const std::vector<Expr>& list) {
    std::vector<Expr> result;
    for (const Expr& e : list) result.push_back(expr(e));
    return result;
  }
  Stmt stmt(const Stmt& s) {
    bool outer = std::exchange(changed_, false);
    Stmt r = (*this)(s);
    changed_ = outer || r != s;
    return r;
  }

  Stmt rebuild(const Stmt& s) {
    bool outer = std::exchange(changed_, false);
    Stmt result = std::visit(overloaded{
                                 [&](const For& x) {
                                   Expr extent = expr(x.extent);
                                   Stmt body = stmt(x.body);
                                   return changed_ ? (body ? make_stmt(For{x.var, extent, x.kind, body}) : nullptr) : s;
                                 },
                                 [&](const Sequence& x) {
                                   std::vector<Stmt> body;
                                   for (const Stmt& b : x.body) body.push_back(stmt(b));
                                   return changed_ ? sequence(std::move(body)) : s;
                                 },
                                 [&](const Store& x) {
                                   std::vector<Expr> indices = exprs(x.indices);
                                   Expr value = expr(x.value);
                                   return changed_ ? store(x.buffer, std::move(indices), value) : s;
                                 },
                                 [&](const Let& x) {
                                   Expr value = expr(x.value);
                                   Stmt body = stmt(x.body);
                                   return changed_ ? (body ? let(x.var, value, body) : nullptr) : s;
                                 },
                                 [&](const Allocate& x) {
                                   Stmt body = stmt(x.body);
                                   return changed_ ? (body ? allocate(x.buffer, body) : nullptr) : s;
                                 },
                                 [&](const IfThen& x) {
                                   Expr condition = expr(x.condition);
                                   Stmt a = stmt(x.then_body), b = stmt(x.else_body);
                                   return changed_ ? (a || b ? if_then(condition, a, b) : nullptr) : s;
                                 },
                                 [&](const Require& x) {
                                   Expr condition = expr(x.condition);
                                   return changed_ ? require(condition, x.status) : s;
                                 },
                                 [&](const Prefetch& x) {
                                   std::vector<Expr> indices = exprs(x.indices);
                                   return changed_ ? make_stmt(Prefetch{x.buffer, std::move(indices), x.cache}) : s;
                                 },
                                 [&](const IntrinsicCall& x) {
                                   std::vector<Region> operands;
                                   for (const Region& r : x.operands) operands.push_back({r.buffer, exprs(r.begin)});
                                   return changed_ ? make_stmt(IntrinsicCall{x.intrinsic, std::move(operands)}) : s;
                                 },
                                 [&](const Outline& x) {
                                   Stmt body = stmt(x.body);
                                   return changed_ ? outline(body) : s;
                                 },
                             },
                             s->v);
    changed_ = outer;
    return result;
  }

  ExprRewriter exprs_;
  bool rewrites_exprs_;
  const std::function<Stmt(const Stmt&)>& on_stmt_;
  bool changed_ = false;
};

std::function<Expr(const Expr&)> replacing(const Substitution& map) {
  return [&map](const Expr& e) {
    const VarRef* ref = as<VarRef>(e);
    if (!ref) return e;
    auto it = map.find(ref->var);
    return it == map.end() ? e : it->second;
  };
}

}  // namespace

void for_each_expr(const Expr& root, const std::function<void(const Expr&)>& visit) {
  std::set<const ExprNode*> seen;
  auto walk = [&](auto& self, const Expr& e) -> void {
    if (e.is_shared() && !seen.insert(e.get()).second) return;
    for_each_operand(*e, [&](const Expr& child) { self(self, child); });
    visit(e);
  };
  if (root) walk(walk, root);
}

void for_each_stmt(const Stmt& s, const std::function<void(const Stmt&)>& visit) {
  if (!s) return;
  visit(s);
  std::visit(overloaded{
                 [&](const For& x) { for_each_stmt(x.body, visit); },
                 [&](const Sequence& x) {
                   for (const Stmt& b : x.body) for_each_stmt(b, visit);
                 },
                 [&](const Let& x) { for_each_stmt(x.body, visit); },
                 [&](const Allocate& x) { for_each_stmt(x.body, visit); },
                 [&](const IfThen& x) { for_each_stmt(x.then_body, visit), for_each_stmt(x.else_body, visit); },
                 [&](const Outline& x) { for_each_stmt(x.body, visit); },
                 [&](const Store&) {},
                 [&](const Require&) {},
                 [&](const Prefetch&) {},
                 [&](const IntrinsicCall&) {},
             },
             s->v);
}

void for_each_root_expr(const Stmt& root, const std::function<void(const Expr&)>& visit) {
  auto all = [&](const std::vector<Expr>& list) {
    for (const Expr& e : list) visit(e);
  };
  for_each_stmt(root, [&](const Stmt& s) {
    std::visit(overloaded{
                   [&](const For& x) { visit(x.extent); },
                   [&](const Sequence&) {},
                   [&](const Outline&) {},
                   [&](const Store& x) { all(x.indices), visit(x.value); },
                   [&](const Let& x) { visit(x.value); },
                   [&](const Allocate&) {},
                   [&](const IfThen& x) { visit(x.condition); },
                   [&](const Require& x) { visit(x.condition); },
                   [&](const Prefetch& x) { all(x.indices); },
                   [&](const IntrinsicCall& x) {
                     for (const Region& r : x.operands) all(r.begin);
                   },
               },
               s->v);
  });
}

std::vector<Var> variables_in(const Expr& root) {
  std::vector<Var> variables;
  for_each_expr(root, [&](const Expr& e) {
    const VarRef* ref = as<VarRef>(e);
    if (ref && std::ranges::find(variables, ref->var) == variables.end()) variables.push_back(ref->var);
  });
  return variables;
}

Free free_in(const Stmt& statement) {
  std::set<Var> variables;  // bound within, or found
  std::set<Buffer> buffers;
  for_each_stmt(statement, [&](const Stmt& s) {
    if (const For* x = as<For>(s)) variables.insert(x->var);
    if (const Let* x = as<Let>(s)) variables.insert(x->var);
    if (const Allocate* x = as<Allocate>(s)) buffers.insert(x->buffer);
  });
  Free result;
  auto found = [&](const Buffer& b) {
    if (buffers.insert(b).second) result.buffers.push_back(b);
  };
  for_each_stmt(statement, [&](const Stmt& s) {
    if (const Store* x = as<Store>(s)) found(x->buffer);
    if (const Prefetch* x = as<Prefetch>(s)) found(x->buffer);
    if (const IntrinsicCall* x = as<IntrinsicCall>(s))
      for (const Region& r : x->operands) found(r.buffer);
  });
  for_each_root_expr(statement, [&](const Expr& root) {
    for_each_expr(root, [&](const Expr& e) {
      if (const Load* x = as<Load>(e)) found(x->buffer);
      const VarRef* x = as<VarRef>(e);
      if (x && variables.insert(x->var).second) result.variables.push_back(x->var);
    });
  });
  return result;
}

std::set<Var> register_index_variables(const Stmt& root) {
  std::set<Var> result;
  auto add = [&](const BufferNode& buffer, const std::vector<Expr>& indices) {
    if (buffer.scope != Scope::reg) return;
    for (const Expr& index : indices)
      for (const Var& v : variables_in(index)) result.insert(v);
  };
  for_each_stmt(root, [&](const Stmt& s) {
    if (const Store* store = as<Store>(s)) add(*store->buffer, store->indices);
  });
  for_each_root_expr(root, [&](const Expr& e) {
    for (const Load& load : loads_of(e)) add(*load.buffer, load.indices);
  });
  return result;
}

bool can_fail(const Stmt& root) {
  bool found = false;
  if (root) for_each_stmt(root, [&](const Stmt& s) { found |= as<Require>(s) != nullptr; });
  return found;
}

bool can_fail(const Kernel& kernel) { return can_fail(kernel.body); }

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f) { return ExprRewriter(f)(e); }

Stmt rewrite(const Stmt& s, const std::function<Expr(const Expr&)>& on_expr,
             const std::function<Stmt(const Stmt&)>& on_stmt) {
  return StmtRewriter(on_expr, on_stmt)(s);
}

Stmt map_nested(const Stmt& s, const std::function<Stmt(const Stmt&)>& f) {
  auto with = [&](const Stmt& body, const auto& made) -> Stmt {
    Stmt other = body ? f(body) : body;
    return other == body ? s : other ? made(other) : nullptr;
  };
  if (const For* x = as<For>(s))
    return with(x->body, [&](const Stmt& body) { return make_stmt(For{x->var, x->extent, x->kind, body}); });
  if (const Let* x = as<Let>(s)) return with(x->body, [&](const Stmt& body) { return let(x->var, x->value, body); });
  if (const Allocate* x = as<Allocate>(s))
    return with(x->body, [&](const Stmt& body) { return allocate(x->buffer, body); });
  if (const Outline* x = as<Outline>(s)) return with(x->body, outline);
  if (const IfThen* x = as<IfThen>(s)) {
    Stmt a = x->then_body ? f(x->then_body) : nullptr, b = x->else_body ? f(x->else_body) : nullptr;
    return a == x->then_body && b == x->else_body ? s : if_then(x->condition, a, b);
  }
  const Sequence* x = as<Sequence>(s);
  if (!x) return s;
  std::vector<Stmt> body;
  for (const Stmt& part : x->body) body.push_back(f(part));
  return body == x->body ? s : sequence(std::move(body));
}

Expr substitute(const Expr& e, const Substitution& map) { return map.empty() ? e : rewrite(e, replacing(map)); }
Stmt substitute(const Stmt& s, const Substitution& map) { return map.empty() ? s : rewrite(s, replacing(map)); }

static Expr rewrite_load(const Load& l, const MapAccess& map) {
  Load other = l;
  map(other.buffer, other.indices);
  return load(std::move(other.buffer), std::move(other.indices), std::move(other.otherwise));
}

Expr rewrite_accesses(const Expr& root, const MapAccess& map) {
  return rewrite(root, [&](const Expr& e) { return as<Load>(e) ? rewrite_load(*as<Load>(e), map) : e; });
}

Stmt rewrite_accesses(const Stmt& root, const MapAccess& map) {
  auto on_expr = [&](const Expr& e) { return as<Load>(e) ? rewrite_load(*as<Load>(e), map) : e; };
  return rewrite(root, on_expr, [&](const Stmt& s) {
    if (const Store* x = as<Store>(s)) {
      Store other = *x;
      map(other.buffer, other.indices);
      return make_stmt(std::move(other));
    }
    if (const Prefetch* x = as<Prefetch>(s)) {
      Prefetch other = *x;
      map(other.buffer, other.indices);
      return make_stmt(std::move(other));
    }
    if (const IntrinsicCall* x = as<IntrinsicCall>(s)) {
      IntrinsicCall other = *x;
      for (Region& r : other.operands) map(r.buffer, r.begin);
      return make_stmt(std::move(other));
    }
    return s;
  });
}

void rewrite_stage(Stage& stage, const std::function<Expr(const Expr&)>& f) {
  for (Expr& v : stage.values) v = rewrite(v, f);
  for (Requirement& r : stage.requirements) r.condition = rewrite(r.condition, f);
  const auto on_root = [&](const Expr& e) { return rewrite(e, f); };
  if (stage.body) stage.body = rewrite(stage.body, on_root);
}

void for_each_root_expr(const Stage& stage, const std::function<void(const Expr&)>& visit) {
  for (const Expr& v : stage.values) visit(v);
  for (const Requirement& r : stage.requirements) visit(r.condition);
  if (stage.body) for_each_root_expr(stage.body, visit);
}

namespace {

// Copies a statement top-down with fresh variables and buffers; a shared statement is copied at each use.
class Renamer {
 public:
  Stmt run(const Stmt& s) {
    if (!s) return s;
    return std::visit(overloaded{
                          [&](const For& x) {
                            Expr extent = expr(x.extent);
                            Var var = rename(x.var);
                            return make_stmt(For{var, extent, x.kind, run(x.body)});
                          },
                          [&](const Sequence& x) {
                            std::vector<Stmt> body;
                            for (const Stmt& b : x.body) body.push_back(run(b));
                            return make_stmt(Sequence{std::move(body)});
                          },
                          [&](const Store& x) {
                            return make_stmt(Store{buffer(x.buffer), exprs(x.indices), expr(x.value)});
                          },
                          [&](const Let& x) {
                            Expr value = expr(x.value);
                            Var var = rename(x.var);
                            return make_stmt(Let{var, value, run(x.body)});
                          },
                          [&](const Allocate& x) {
                            buffers_[x.buffer] = std::make_shared<const BufferNode>(*x.buffer);
                            Buffer own = buffers_[x.buffer];
                            return make_stmt(Allocate{own, run(x.body)});
                          },
                          [&](const IfThen& x) {
                            return make_stmt(IfThen{expr(x.condition), run(x.then_body), run(x.else_body)});
                          },
                          [&](const Require& x) {
                            return make_stmt(Require{expr(x.condition), x.status});
                          },
                          [&](const Prefetch& x) {
                            return make_stmt(Prefetch{buffer(x.buffer), exprs(x.indices), x.cache});
                          },
                          [&](const IntrinsicCall& x) {
                            std::vector<Region> operands;
                            for (const Region& r : x.operands) operands.push_back({buffer(r.buffer), exprs(r.begin)});
                            return make_stmt(IntrinsicCall{x.intrinsic, std::move(operands)});
                          },
                          [&](const Outline& x) { return outline(run(x.body)); },
                      },
                      s->v);
  }

 private:
  Var rename(const Var& var) {
    Var own = make_var(var->name, var->type);
    vars_[var] = own;
    return own;
  }
  Buffer buffer(const Buffer& b) const {
    auto it = buffers_.find(b);
    return it == buffers_.end() ? b : it->second;
  }
  Expr expr(const Expr& e) const {
    return rewrite(e, [&](const Expr& x) {
      if (const VarRef* ref = as<VarRef>(x)) {
        auto it = vars_.find(ref->var);
        return it == vars_.end() ? x : Expr(it->second);
      }
      const Load* l = as<Load>(x);
      return l && buffers_.contains(l->buffer) ? load(buffer(l->buffer), l->indices, l->otherwise) : x;
    });
  }
  std::vector<Expr> exprs(const std::vector<Expr>& list) const {
    std::vector<Expr> result;
    for (const Expr& e : list) result.push_back(expr(e));
    return result;
  }

  std::map<Var, Var> vars_;
  std::map<Buffer, Buffer> buffers_;
};

}  // namespace

Stmt with_unique_names(const Stmt& s) { return Renamer().run(s); }

bool uses(const Load& load, const Var& var) {
  return std::ranges::any_of(load.indices, [&](const Expr& i) { return uses(i, var); });
}

bool is_var(const Expr& e, const Var& v) {
  const VarRef* ref = as<VarRef>(e);
  return ref && ref->var == v;
}

bool uses(const Expr& e, const Var& var) {
  bool found = false;
  for_each_expr(e, [&](const Expr& x) { found |= as<VarRef>(x) && as<VarRef>(x)->var == var; });
  return found;
}

std::vector<Load> loads_of(const Expr& e) {
  std::vector<Load> loads;
  for_each_expr(e, [&](const Expr& x) {
    if (const Load* l = as<Load>(x)) loads.push_back(*l);
  });
  return loads;
}

}  // namespace dlcc::tensor
