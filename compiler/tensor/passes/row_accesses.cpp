#include "tensor/passes/row_accesses.h"

#include <algorithm>

#include "tensor/visit.h"

namespace dlcc::tensor {

Accesses accesses_in(const Stmt& s) {
  const Free free = free_in(s);
  const std::set<Buffer> outer(free.buffers.begin(), free.buffers.end());
  Accesses found;
  rewrite_accesses(s, [&](Buffer& b, std::vector<Expr>& indices) {
    if (outer.contains(b)) found.indices[b].push_back(indices);
  });
  for_each_stmt(s, [&](const Stmt& x) {
    if (const Store* store = as<Store>(x)) found.written.insert(store->buffer);
    if (const IntrinsicCall* call = as<IntrinsicCall>(x))
      for (const Region& r : call->operands) found.written.insert(r.buffer);
  });
  return found;
}

std::optional<size_t> row_dimension(const std::vector<std::vector<Expr>>& accesses, const Var& v) {
  for (size_t d = 0; d < accesses.front().size(); ++d)
    if (std::ranges::all_of(accesses, [&](const std::vector<Expr>& indices) { return is_var(indices[d], v); }))
      return d;
  return std::nullopt;
}

bool accesses(const Stmt& s, const Buffer& b) {
  const Free free = free_in(s);
  return std::ranges::count(free.buffers, b) > 0;
}

std::vector<Stmt> statements_of(const Stmt& s) {
  const Sequence* list = as<Sequence>(s);
  return list ? list->body : std::vector{s};
}

}  // namespace dlcc::tensor
