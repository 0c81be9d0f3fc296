#include "tensor/passes/fuse_rows.h"

#include "tensor/passes/row_accesses.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Whether iterations of the two loop bodies depend on each other only where they are the same iteration, and some do.
bool share_rows(const Stmt& a, const Stmt& b, const Var& v) {
  Accesses first = accesses_in(a);
  const Accesses second = accesses_in(b);
  bool any = false;
  for (const auto& [buffer, indices] : second.indices) {
    auto other = first.indices.find(buffer);
    const bool is_written = first.written.contains(buffer) || second.written.contains(buffer);
    if (other == first.indices.end() || !is_written) continue;
    std::vector<std::vector<Expr>> all = other->second;
    all.insert(all.end(), indices.begin(), indices.end());
    if (!row_dimension(all, v)) return false;
    any = true;
  }
  return any;
}

}  // namespace

Stmt fuse_rows(const Stmt& a, const Stmt& b) {
  const For *first = as<For>(a), *second = as<For>(b);
  const bool are_loops = first && second && first->kind == LoopKind::parallel && second->kind == LoopKind::parallel;
  if (!are_loops || !structurally_equal(first->extent, second->extent)) return nullptr;
  const Stmt after = substitute(second->body, {{second->var, Expr(first->var)}});
  if (!share_rows(first->body, after, first->var)) return nullptr;
  std::vector<Stmt> body = statements_of(first->body);
  if (Stmt both = fuse_rows(body.back(), after))
    body.back() = std::move(both);
  else
    body.push_back(after);
  return for_loop(first->var, first->extent, LoopKind::parallel, sequence(std::move(body)));
}

}  // namespace dlcc::tensor
