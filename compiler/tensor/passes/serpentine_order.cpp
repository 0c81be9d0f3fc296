#include "tensor/passes/serpentine_order.h"

#include <algorithm>

#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Whether the indices at which the statement reads one of the buffers depend on the variable.
bool reads_at(const Stmt& body, const Var& var, const std::set<Buffer>& buffers) {
  bool reads = false;
  auto note = [&](const Buffer& b, const std::vector<Expr>& indices) {
    reads |= buffers.contains(b) && std::ranges::any_of(indices, [&](const Expr& i) { return uses(i, var); });
  };
  for_each_root_expr(body, [&](const Expr& e) {
    for (const Load& l : loads_of(e)) note(l.buffer, l.indices);
  });
  for_each_stmt(body, [&](const Stmt& s) {
    if (const auto* call = as<IntrinsicCall>(s))
      for (const Region& r : call->operands) note(r.buffer, r.begin);
  });
  return reads;
}

For reversed(const For& loop, const Var& backward) {
  const Var at = make_var(loop.var->name + "_at");
  const Expr is_backward = equal(Expr(backward), Expr(1));
  const Stmt body = rewrite(loop.body, {}, [&](const Stmt& s) -> Stmt {
    const auto* prefetch = as<Prefetch>(s);
    if (!prefetch) return s;
    Prefetch before = *prefetch;
    for (Expr& i : before.indices) i = substitute(i, {{loop.var, Expr(loop.var) - Expr(2) * Expr(backward)}});
    return make_stmt(std::move(before));
  });
  const Expr value = select(is_backward, loop.extent - Expr(1) - Expr(at), Expr(at));
  return {at, loop.extent, loop.kind, let(loop.var, value, body)};
}

}  // namespace

Stmt serpentine_order(const Stmt& s, const Var& backward, const std::set<Buffer>& repeated) {
  auto within = [&](const Stmt& body) { return serpentine_order(body, backward, repeated); };
  if (const auto* loop = as<For>(s)) {
    if (loop->kind == LoopKind::parallel && reads_at(loop->body, loop->var, repeated))
      return make_stmt(reversed(*loop, backward));
    return nullptr;
  }
  if (const auto* x = as<Let>(s)) {
    const Stmt body = within(x->body);
    return body ? let(x->var, x->value, body) : nullptr;
  }
  if (const auto* x = as<Allocate>(s)) {
    const Stmt body = within(x->body);
    return body ? allocate(x->buffer, body) : nullptr;
  }
  const auto* x = as<Sequence>(s);
  if (!x) return nullptr;
  bool changed = false;
  std::vector<Stmt> parts;
  for (const Stmt& part : x->body) {
    const Stmt reordered = within(part);
    changed |= reordered != nullptr;
    parts.push_back(reordered ? reordered : part);
  }
  return changed ? sequence(std::move(parts)) : nullptr;
}

}  // namespace dlcc::tensor
